<?php
// SPDX-License-Identifier: Apache-2.0
// Keeps a shop's own copy of the levels by Holdfast's events. Needs PDO's SQLite, nothing else.
//
//   php -S 127.0.0.1:9000 consumer.php   receives webhooks at /webhook
//   php consumer.php catch-up            reads the feed from where it was last read to its end
//   php consumer.php catch-up --anew     reads every level first, then the feed from its beginning

declare(strict_types=1);

const BODY_BYTES_MAX = 64 * 1024;
const TOLERANCE_SECONDS = 5 * 60;
const SEEN_DAYS = 60; // longer than Holdfast keeps events (events_keep_days): no repeat comes later

// A notice must not end up in an answer, where it would turn a failure into a 200.
ini_set('display_errors', PHP_SAPI === 'cli' ? 'stderr' : '0');

function open_store(): PDO
{
    $store = new PDO('sqlite:' . (getenv('STATE') ?: 'holdfast-state.sqlite'));
    $store->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
    $store->exec('PRAGMA busy_timeout = 10000'); // a catch-up beside the server waits its turn
    $store->exec('
        CREATE TABLE IF NOT EXISTS level (
            sku TEXT, location TEXT, version INTEGER NOT NULL,
            on_hand INTEGER NOT NULL, reserved INTEGER NOT NULL, available INTEGER NOT NULL,
            PRIMARY KEY (sku, location));
        CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY, at INTEGER NOT NULL);
        CREATE TABLE IF NOT EXISTS feed (
            one INTEGER PRIMARY KEY CHECK (one = 1), next_after TEXT NOT NULL)');
    return $store;
}

// Runs a statement and returns how many rows it changed.
function execute(PDO $store, string $sql, array $values): int
{
    $statement = $store->prepare($sql);
    $statement->execute($values);
    return $statement->rowCount();
}

// All of it is stored, or nothing.
function transaction(PDO $store, callable $work): mixed
{
    $store->exec('BEGIN IMMEDIATE');
    try {
        $result = $work();
        $store->exec('COMMIT');
        return $result;
    } catch (Throwable $failure) {
        $store->exec('ROLLBACK');
        throw $failure;
    }
}

// Levels are absolute and versions only grow, so an older one has nothing to say.
function store_level(PDO $store, string $sku, array $level): bool
{
    return execute($store, '
        INSERT INTO level VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (sku, location) DO UPDATE
        SET version = excluded.version, on_hand = excluded.on_hand,
            reserved = excluded.reserved, available = excluded.available
        WHERE excluded.version >= level.version', [
        $sku, $level['location'], $level['version'],
        $level['on_hand'], $level['reserved'], $level['available'],
    ]) === 1;
}

// Applies one event in the caller's transaction. Returns the line that tells of it, which is
// printed after the commit.
function apply(PDO $store, array $event): string
{
    $name = "{$event['type']} {$event['sku']} {$event['location']} v{$event['version']}";
    if (execute($store, 'INSERT OR IGNORE INTO seen VALUES (?, ?)', [$event['id'], time()]) === 0) {
        return "dropped $name: seen before";
    }
    // Work that each event must cause once, even one that comes late (an order's state, a mail to
    // be sent), is written here, in the same transaction.
    // An edge (stock.low …) has the version of the event that caused it: equal is not stale.
    if (!store_level($store, $event['sku'], $event)) {
        return "dropped $name: stale";
    }
    return "applied $name available {$event['available']}";
}

// Standard Webhooks: HMAC-SHA256 over id.timestamp.body, the body exactly as it came.
function is_genuine(string $key, array $headers, string $body): bool
{
    [$id, $timestamp, $signatures] = $headers;
    if ($id === '' || !preg_match('/^[0-9]{1,12}$/D', $timestamp)) {
        return false;
    }
    if (abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false; // a recording, played again
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    // Two signatures while the secret is being changed; one that fits is enough.
    foreach (explode(' ', $signatures) as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}

// Tells on the server's own output; echo would go into the answer.
function tell(string $line): void
{
    file_put_contents('php://stdout', $line . "\n");
}

// Returns the status to answer with. 204 says that the effect is stored.
function receive(): int
{
    $secret = preg_replace('/^whsec_/', '', (string) getenv('HOLDFAST_WEBHOOK_SECRET'));
    $key = base64_decode($secret, true);
    if ($key === false || $key === '') {
        error_log('HOLDFAST_WEBHOOK_SECRET must be the whsec_… that Holdfast gave');
        return 500;
    }
    if (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) !== '/webhook') {
        return 404;
    }
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        return 405;
    }
    $body = (string) file_get_contents('php://input', false, null, 0, BODY_BYTES_MAX + 1);
    if (strlen($body) > BODY_BYTES_MAX) {
        return 413;
    }
    $headers = array_map(fn ($name) => $_SERVER["HTTP_WEBHOOK_$name"] ?? '',
        ['ID', 'TIMESTAMP', 'SIGNATURE']);
    if (!is_genuine($key, $headers, $body)) {
        return 400;
    }
    $message = json_decode($body, true);
    if (!is_array($message) || !is_string($message['type'] ?? null)) {
        return 400;
    }
    $event = $message['data'] ?? null;
    if (!is_array($event) || !isset($event['version'])) {
        // webhook.test, or a kind of message that is newer than this program
        tell("dropped {$message['type']}: has no level");
        return 204;
    }
    $store = open_store();
    tell(transaction($store, fn () => apply($store, $event)));
    return 204;
}

function stop(string $message): never
{
    fwrite(STDERR, $message . "\n");
    exit(1);
}

function get(string $path, array $query): array
{
    $context = stream_context_create(['http' => [
        'header' => 'Authorization: Bearer ' . getenv('HOLDFAST_KEY'),
        'ignore_errors' => true, // the body of a refusal says what is wrong
        'follow_location' => 0,  // the key is for this address only
        'timeout' => 30,
    ]]);
    $url = getenv('HOLDFAST_URL') . $path . '?' . http_build_query($query);
    $text = @file_get_contents($url, false, $context);
    if ($text === false) {
        stop("GET $path: no answer. What was applied is stored; run it again.");
    }
    $status = (int) explode(' ', $http_response_header[0])[1];
    $answer = json_decode($text, true);
    if ($status === 410 && ($answer['code'] ?? '') === 'events-expired') {
        stop('The feed no longer goes back to where it was last read: events were missed.'
            . ' Run: catch-up --anew');
    }
    if ($status !== 200 || !is_array($answer)) {
        stop("GET $path: $status $text");
    }
    return $answer;
}

function read_levels(PDO $store): void
{
    for ($cursor = ''; $cursor !== null; $cursor = $page['next_cursor']) {
        $page = get('/v1/stock', ['limit' => 200, 'cursor' => $cursor]);
        transaction($store, function () use ($store, $page) {
            foreach ($page['data'] as $item) {
                foreach ($item['levels'] as $level) {
                    store_level($store, $item['sku'], $level);
                }
            }
        });
    }
}

function catch_up(bool $anew): void
{
    $store = open_store();
    // Here and not for each request; so let cron run it once a day.
    execute($store, 'DELETE FROM seen WHERE at < ?', [time() - SEEN_DAYS * 86400]);
    if ($anew) {
        // Levels first: what changes meanwhile stands in the feed. The other way round has a gap.
        read_levels($store);
    }
    $after = $anew ? '' : (string) $store->query('SELECT next_after FROM feed')->fetchColumn();
    do {
        $before = $after;
        $page = get('/v1/events', ['limit' => 200] + ($after === '' ? [] : ['after' => $after]));
        $after = $page['next_after'];
        // Effects and cursor together: a crash in between neither skips nor repeats.
        $lines = transaction($store, function () use ($store, $page) {
            execute($store, 'INSERT OR REPLACE INTO feed VALUES (1, ?)', [$page['next_after']]);
            return array_map(fn ($event) => apply($store, $event), $page['data']);
        });
        array_map('tell', $lines);
    } while ($after !== $before);
}

if (PHP_SAPI !== 'cli') {
    try {
        http_response_code(receive());
    } catch (Throwable $failure) {
        error_log('not stored: ' . $failure->getMessage());
        http_response_code(500); // Holdfast sends it again
    }
} elseif (in_array(array_slice($argv, 1), [['catch-up'], ['catch-up', '--anew']], true)) {
    catch_up(in_array('--anew', $argv, true));
} else {
    stop('php -S 127.0.0.1:9000 consumer.php | php consumer.php catch-up [--anew]');
}
