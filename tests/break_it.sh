#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that the tests of the most important guards can fail: breaks one guard after the other in a
# copy of the tree, builds it, and expects red. Ends with 1 when a broken program passes its tests.
# Takes the numbers of the guards to break, or none for all of them.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

tree=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-break-it-XXXXXX")
copy=$work/tree
trap 'rm -rf "$work"' EXIT
# The private clusters of tests may run as another user.
chmod 711 "$work"

# A copy has another path each time; its objects are the same all the same.
export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
# Whoever runs this may have a database or a binary in the environment that is not meant.
unset HOLDFAST_BINARY HOLDFAST_DATABASE_URL HOLDFAST_STRATEGY_UNDER_TEST

say() { printf 'break_it: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 2
}

names=() files=() befores=() afters=() tests=()

# guard NAME FILE BEFORE AFTER TESTS: BEFORE stands in FILE once and becomes AFTER. TESTS are lines
# of a test binary, the strategy under test or -, and the name of a test case, which may have a *.
guard() {
    names+=("$1") files+=("$2") befores+=("$3") afters+=("$4") tests+=("$5")
}

guard 'conditional_update takes only what is there' strategies/conditional_update.sql \
    '
   AND on_hand - reserved >= :quantity::bigint
' '
' \
    'contract_tests conditional_update the last unit goes to one of those who reach for it
contract_tests conditional_update a rush gets exactly what is there*'

guard 'optimistic writes only on the version it saw' strategies/optimistic.sql \
    '   AND version = :version::bigint' '   AND :version::bigint IS NOT NULL' \
    'contract_tests optimistic a rush gets exactly what is there*
contract_tests optimistic whoever meets a rival in mid-sale*'

guard 'row_lock locks before it looks' db/levels.sql \
    ' ORDER BY l.sku, l.location
   FOR UPDATE OF l;' ' ORDER BY l.sku, l.location;' \
    'contract_tests row_lock a rush gets exactly what is there*
contract_tests row_lock whoever meets a rival in mid-sale*'

guard 'batched takes only what is there' strategies/batched.sql \
    '
   AND on_hand - reserved >= :quantity::bigint
' '
' \
    'contract_tests batched the last unit goes to one of those who reach for it
contract_tests batched one level named several times*'

guard 'batched counts only on a level it has seen' strategies/batched.sql \
    'CASE WHEN version = :seen_version::bigint THEN version + :entries::bigint END' \
    'version + :entries::bigint + 0 * :seen_version::bigint' \
    'lane_tests - what somebody else took since the look*'

guard 'a count is closed by one at a time' db/counts.sql \
    ' WHERE id = :id::uuid
   FOR UPDATE;' ' WHERE id = :id::uuid;' \
    'office_tests - who applies at the same time as others applies once
model_tests - what is sold while a shelf is counted is neither lost nor counted twice'

guard 'a level that is counted again makes an entry out of date' db/counts.sql \
    'm.version > e.version AND m.kind' 'm.version < 0 AND m.kind' \
    'model_tests - what is sold while a shelf is counted is neither lost nor counted twice'

guard 'two who carry out one promise meet at its lines' db/session.cpp \
    'reservation_line_pkey' 'reservation_line_sku_fk' \
    'lane_tests - what two processes carry out at once*'

guard 'undoing leaves alone what was counted since' service/undoing.cpp \
    '    db::imports::supersede(tx, cmd.id);' '    (void)db::imports::supersede;' \
    'office_tests - a level that was counted or set to a number since is right*'

guard 'what is released comes back once' service/settling.cpp \
    '        if (r.state != reservation_state::held)
            return r;
        put_back(' '        put_back(' \
    'fault_tests - C2:*
fault_tests - C4:*
scenario_tests - a released hold stays released'

guard 'a request sent again is looked up first' service/attempt.cpp \
    '        if (seen.earlier)
' '        if (false)
' \
    'scenario_tests - a request that is sent twice is done once
http_tests - a request sent again is answered again*'

guard 'a hold that has lapsed cannot be paid for' service/settling.cpp \
    'reservation_state::expired || found->is_due) {
            if (cmd' 'reservation_state::expired) {
            if (cmd' \
    'scenario_tests - a hold that has run out is nobody*
fault_tests - E1:*'

guard 'a due hold counts towards a limit until it is expired' db/reservations.sql \
    "WHEN r.state = 'held' THEN l.quantity" \
    "WHEN r.state = 'held' AND r.expires_at > now() THEN l.quantity" \
    'db_tests - a confirmation that began in time*'

guard 'what is committed late is told late, and not passed by' db/feed.cpp \
    '    add_rest(left, {last_id + 1, highest, std::nullopt}, found);
' '' \
    'fault_tests - J1:*
event_tests - however changes commit*'

guard 'the sweeper leaves out what others are settling' db/reservations.sql \
    '                          LIMIT :lines_max::bigint))
 ORDER BY r.id
   FOR UPDATE OF r SKIP LOCKED;' '                          LIMIT :lines_max::bigint))
 ORDER BY r.id;' \
    'fault_tests - D5:*'

guard 'a token is spent once' db/tokens.sql \
    '    ON CONFLICT (id) DO NOTHING;' \
    '    ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at;' \
    'redis_tests - twenty buyers with one token*
redis_tests - a token is needed*'

guard 'a token is bound to its customer' service/tokens.cpp \
    '    append_text(text, bearer.customer);
' '' \
    'unit_tests - a token is nobody else*
redis_tests - a token is needed*'

guard 'Redis refuses under a lease only' redis/scripts/take.lua \
    'local is_fresh = now < tonumber(state[2])' 'local is_fresh = true' \
    'redis_chaos_tests - a drill through a Redis that loses everything*
redis_chaos_tests - a hundred kills of Redis*'

guard 'a new epoch knows nothing of the one before' redis/scripts/load.lua \
    "redis.call('DEL', unpack(KEYS))" \
    "redis.call('DEL', unpack(KEYS, 2))" \
    'redis_chaos_tests - a hundred kills of Redis*'

guard 'Redis never refuses what it has let through' redis/scripts/take.lua \
    'if verdict > ASK and is_noted_before(note) then' \
    'if false then' \
    'redis_tests - a request that is repeated has its first answer*'

guard 'what a customer gave back every bucket is told' service/fast_path/admission.cpp \
    'what.customer.empty() ? 0 : of.buckets - 1' 'what.customer.empty() ? 0 : 0' \
    'redis_tests - what a customer gave back is forgotten*'

guard 'what is told late is not counted once he gave something up' redis/scripts/settle.lua \
    'return told ~= reliefs and' 'return false and' \
    'redis_tests - whoever gave something up before Redis knew*'

make_copy() {
    mkdir "$copy"
    git ls-files -z --cached --others --exclude-standard |
        tar --create --null --files-from=- --ignore-failed-read 2>"$work/tar.log" |
        tar --extract --directory="$copy"
    cmake -S "$copy" -B "$copy/build/broken" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
        -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold >"$work/cmake.log" ||
        die "$(tail -n 20 "$work/cmake.log")"
}

build() {
    local -a targets
    mapfile -t targets < <(printf '%s\n' "$@" | cut -d ' ' -f 1 | sort -u)
    if ! cmake --build "$copy/build/broken" --target holdfast "${targets[@]}" \
        >"$work/build.log" 2>&1; then
        tail -n 40 "$work/build.log" >&2
        die 'that does not compile, so it proves nothing'
    fi
}

# Replaces the one place where BEFORE stands in FILE. A guard that was rewritten needs a new break.
break_file() {
    perl -e '
        my ($file, $before, $after) = @ARGV;
        local $/;
        open my $in, "<", $file or die "$file: $!\n";
        my $text = <$in>;
        my $times = () = $text =~ /\Q$before\E/g;
        die "$file has the guard $times times, not once\n" unless $times == 1;
        $text =~ s/\Q$before\E/$after/;
        open my $out, ">", $file or die "$file: $!\n";
        print $out $text;
        close $out or die "$file: $!\n";
    ' "$copy/$1" "$2" "$3" || die 'a guard is not where it was; say here how to break it now'
}

# Runs one line of TESTS. Says green, red, or how it failed to run at all.
outcome_of() {
    local binary strategy name status=0
    read -r binary strategy name <<<"$1"
    local -a settings=()
    [[ $strategy == - ]] || settings=("HOLDFAST_STRATEGY_UNDER_TEST=$strategy")
    env "${settings[@]}" timeout 300 "$copy/build/broken/tests/$binary" --no-colors=true \
        "--test-case=${name//,/?}" >"$work/test.log" 2>&1 || status=$?
    if grep -Eq 'test cases: +0 ' "$work/test.log"; then
        echo 'not found'
    elif ((status == 0)); then
        echo green
    elif ((status == 124)); then
        echo 'red, never ends'
    else
        echo red
    fi
}

chosen=("$@")
if ((${#chosen[@]} == 0)); then mapfile -t chosen < <(seq "${#names[@]}"); fi
all_tests=()
for number in "${chosen[@]}"; do
    if ! [[ $number =~ ^[0-9]+$ ]] || ((number < 1 || number > ${#names[@]})); then
        die "the guards are numbered from 1 to ${#names[@]}"
    fi
    mapfile -t lines <<<"${tests[number - 1]}"
    all_tests+=("${lines[@]}")
done

say 'copying and building the tree as it is'
make_copy
build "${all_tests[@]}"
mapfile -t all_tests < <(printf '%s\n' "${all_tests[@]}" | sort -u)
for line in "${all_tests[@]}"; do
    outcome=$(outcome_of "$line")
    if [[ $outcome != green ]]; then
        tail -n 60 "$work/test.log" >&2
        die "before anything is broken, this is $outcome: $line"
    fi
done

survivors=0
printf '%-50s %s\n' 'broken guard' 'tests'
for number in "${chosen[@]}"; do
    i=$((number - 1))
    file=${files[i]}
    break_file "$file" "${befores[i]}" "${afters[i]}"
    mapfile -t lines <<<"${tests[i]}"
    build "${lines[@]}"
    reds=0
    for line in "${lines[@]}"; do
        outcome=$(outcome_of "$line")
        [[ $outcome == green ]] || reds=$((reds + 1))
        printf '%-50s %-6s %s\n' "$number ${names[i]}" "$outcome" "$line"
    done
    if ((reds == 0)); then
        survivors=$((survivors + 1))
        say "no test noticed that this is broken: ${names[i]}"
    fi
    cp "$tree/$file" "$copy/$file"
done

printf '%d guards broken, %d of them unnoticed\n' "${#chosen[@]}" "$survivors"
((survivors == 0))
