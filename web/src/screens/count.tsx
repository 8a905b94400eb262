// SPDX-License-Identifier: Apache-2.0
// One count: entering it, what it found beside what was sold meanwhile, and making it the numbers.
import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { CountEntry, ShownCount, StockCount } from '../api';
import { cell_fault_text } from '../cell_faults';
import type { Entering } from '../count_entering';
import { is_beyond_nothing, moved_since, sums_of, with_entries } from '../count_figures';
import { rows_refused, type RowFault } from '../counted_rows';
import { address_of } from '../route';
import { fault_text, use_shell } from '../shell';
import type { Key } from '../text/en';
import { Ask } from '../widgets/ask';
import { Badge } from '../widgets/badge';
import { CountAttempts, CountEntryForm } from '../widgets/count_entry_form';
import { Choice, Field } from '../widgets/field';
import { Filters } from '../widgets/filters';
import { HoldLine } from '../widgets/hold_line';
import { use_loaded, type Loaded } from '../widgets/loading';
import { Nothing, Shown } from '../widgets/outcome';
import { Table, type Column } from '../widgets/table';
import { CountState } from './counts';

const look_every_ms = 15_000; // somebody else may be entering the other end of the shelf
const uncounted_shown_max = 100; // by the service
const holds_shown_max = 20; // by the service, of one entry
const kinds = ['differences', 'attention'] as const;

type Faults = ReadonlyMap<string, RowFault>; // by SKU

function Facts({ of: count }: { of: ShownCount }) {
  const { look } = use_shell();
  const scope = count.sku_prefix !== null ? `${count.sku_prefix}…`
    : look.say(count.skus ? 'counts.scope.list' : 'counts.scope.all');
  const facts = [
    [look.say('location'), count.location],
    [look.say('counts.scope'), scope],
    [look.say('counts.note'), count.note],
    [look.say('counts.opened'), `${look.time(count.opened_at)}, ${count.opened_by}`],
    [look.say(`count.${count.state}`),
      count.closed_at && `${look.time(count.closed_at)}, ${count.closed_by}`],
  ] as const;
  return (
    <dl class="pairs">
      {facts.filter(([, what]) => what).map(([name, what]) => (
        <div key={name}><dt>{name}</dt><dd>{what}</dd></div>
      ))}
    </dl>
  );
}

function Sums({ of: count }: { of: ShownCount }) {
  const { look } = use_shell();
  const sums = sums_of(count.entries);
  const tiles = [
    [look.say('counts.entries'), look.number(count.entries.length)],
    [look.say('counts.differing'), look.number(sums.differing)],
    [look.say('counts.found'), look.signed(sums.found)],
    [look.say('counts.missing'), look.signed(-sums.missing)],
    [look.say('short'), look.number(sums.short)],
  ] as const;
  return (
    <dl class="tiles">
      {tiles.map(([name, what]) => <div key={name}><dt>{name}</dt><dd>{what}</dd></div>)}
    </dl>
  );
}

function ShortBy({ entry }: { entry: CountEntry }) {
  const { look } = use_shell();
  return (
    <details>
      <summary>{look.say('counts.short_by', { n: look.number(entry.short) })}</summary>
      {entry.holds.length > 0 && (
        <ul>{entry.holds.map((hold) => <HoldLine key={hold.reservation_id} hold={hold} />)}</ul>
      )}
      {(entry.holds.length === 0 || entry.holds.length >= holds_shown_max) && (
        <a href={address_of(['stock', entry.sku])}>{look.say('counts.all_holds')}</a>
      )}
    </details>
  );
}

function EntryState({ entry, state, fault }: {
  entry: CountEntry;
  state: StockCount['state'];
  fault: RowFault | undefined;
}) {
  const { look } = use_shell();
  return (
    <div class="buttons">
      {fault && <strong class="refused">{cell_fault_text(look, fault, 'counts.fault')}</strong>}
      {entry.outdated && <Badge tone="bad" says="counts.outdated" />}
      {state === 'open' && is_beyond_nothing(entry) && <Badge tone="bad" says="counts.beyond" />}
      {entry.difference === 0 ? <Badge tone="good" says="counts.agrees" />
        : !entry.outdated && <Badge tone="warn" says="counts.differs" />}
      {entry.short > 0 && <ShortBy entry={entry} />}
    </div>
  );
}

function needs_attention(entry: CountEntry, faults: Faults): boolean {
  return entry.outdated || entry.short > 0 || is_beyond_nothing(entry) || faults.has(entry.sku);
}

// The latest first while it is being counted, for that is what one looks for then.
function use_shown_entries(count: ShownCount, faults: Faults): readonly CountEntry[] {
  const { router } = use_shell();
  const { show = '', sku = '' } = router.place.value.query;
  return useMemo(() => {
    const meant = count.entries.filter((entry) =>
      entry.sku.toLowerCase().includes(sku.toLowerCase()) &&
      (show !== 'differences' || entry.difference !== 0) &&
      (show !== 'attention' || needs_attention(entry, faults)));
    return count.state === 'open'
      ? meant.sort((a, b) => Date.parse(b.counted_at) - Date.parse(a.counted_at)) : meant;
  }, [count, faults, show, sku]);
}

function EntryTable({ rows, state, faults, take_back }: {
  rows: readonly CountEntry[];
  state: StockCount['state'];
  faults: Faults;
  take_back: ((sku: string) => void) | null;
}) {
  const { look } = use_shell();
  const number = (title: Key, of: (entry: CountEntry) => string): Column<CountEntry> =>
    ({ title: look.say(title), is_number: true, cell: of });
  return (
    <Table caption={look.say('counts.differences')} rows={rows} id={(e) => e.sku} columns={[
      {
        title: look.say('sku'),
        cell: (e) => <a class="whole" href={address_of(['stock', e.sku])}>{e.sku}</a>,
      },
      number('counts.was', (e) => look.number(e.on_hand)),
      number('counts.quantity', (e) => look.number(e.quantity)),
      number('counts.difference', (e) => look.signed(e.difference)),
      number('counts.since', (e) => look.signed(moved_since(e, state))),
      number(state === 'open' ? 'counts.will_be' : 'on_hand', (e) => look.number(e.on_hand_after)),
      number('reserved', (e) => look.number(e.reserved)),
      {
        title: look.say('state'),
        cell: (e) => <EntryState entry={e} state={state} fault={faults.get(e.sku)} />,
      },
      {
        title: look.say('counts.counted_at'),
        cell: (e) => <><span class="whole">{look.time(e.counted_at)}</span> {e.actor}</>,
      },
      ...(take_back === null ? [] : [{
        title: look.say('action'),
        cell: (e: CountEntry) => (
          <button type="button" class="whole" onClick={() => take_back(e.sku)}
            aria-label={look.say('counts.take_back_of', { sku: e.sku })}>
            {look.say('counts.take_back')}
          </button>
        ),
      }]),
    ]} />
  );
}

function Entries({ count, faults, take_back }: {
  count: ShownCount;
  faults: Faults;
  take_back: ((sku: string) => void) | null;
}) {
  const { look, router } = use_shell();
  const { show = '' } = router.place.value.query;
  const rows = use_shown_entries(count, faults);
  const why_none = count.entries.length === 0 ? 'counts.no_entries' : 'stock.none_found';
  return (
    <section aria-labelledby="entries">
      <h2 id="entries">{look.say('counts.differences')}</h2>
      <Filters>
        <Choice label={look.say('counts.show')} name="show">
          <option value="">{look.say('all')}</option>
          {kinds.map((kind) => (
            <option key={kind} value={kind} selected={kind === show}>
              {look.say(`counts.show.${kind}`)}
            </option>
          ))}
        </Choice>
        <Field label={look.say('sku')} name="sku" />
      </Filters>
      {rows.length === 0 ? <Nothing>{look.say(why_none)}</Nothing>
        : <EntryTable rows={rows} state={count.state} faults={faults} take_back={take_back} />}
    </section>
  );
}

function Uncounted({ skus, choose }: { skus: readonly string[]; choose: (sku: string) => void }) {
  const { look } = use_shell();
  const more = skus.length >= uncounted_shown_max;
  return (
    <details>
      <summary>
        {look.say(more ? 'counts.left_more' : 'counts.left', { n: look.number(skus.length) })}
      </summary>
      <div class="buttons">
        {skus.map((sku) => (
          <button key={sku} type="button" onClick={() => choose(sku)}>{sku}</button>
        ))}
      </div>
    </details>
  );
}

function ApplyAbout({ count, waiting }: { count: ShownCount; waiting: number }) {
  const { look } = use_shell();
  const sums = sums_of(count.entries);
  return (
    <>
      <p>
        {look.say('counts.apply_about', {
          n: look.number(sums.differing), found: look.signed(sums.found),
          missing: look.signed(-sums.missing),
        })}
      </p>
      {sums.short > 0 && <p>{look.say('counts.apply_short', { n: look.number(sums.short) })}</p>}
      {count.uncounted.length > 0 && <p>{look.say('counts.apply_left')}</p>}
      {sums.outdated > 0 && (
        <p class="failed">{look.say('counts.apply_outdated', { n: look.number(sums.outdated) })}</p>
      )}
      {waiting > 0 && (
        <p class="failed">{look.say('counts.apply_waiting', { n: look.number(waiting) })}</p>
      )}
    </>
  );
}

type Closing = 'apply' | 'cancel';

function use_closing(
  count: ShownCount, loaded: Loaded<ShownCount>, refuse: (faults: Faults) => void,
) {
  const { api, look, notices } = use_shell();
  const asking = useMemo(() => signal<Closing | null>(null), []);
  const refused = useMemo(() => signal<string | null>(null), []);
  const tell = (why: string) => {
    refused.value = why;
    notices.refused(why);
  };
  // Whoever says yes has seen what is there now.
  const ask_to_apply = async () => {
    try {
      loaded.value.value = await api.count(count.id);
      asking.value = 'apply';
    } catch (fault) {
      tell(fault_text(look, fault));
    }
  };
  const close_it = async (how: Closing) => {
    refused.value = null;
    refuse(new Map());
    try {
      loaded.value.value =
        await (how === 'apply' ? api.apply_count(count.id) : api.cancel_count(count.id));
      notices.done(look.say(`counts.done.${how}`, { name: count.name }));
    } catch (fault) {
      // Rows are named by their place in the list as the service has it now.
      const now = await api.count(count.id).catch(() => count);
      loaded.value.value = now;
      const rows = [...rows_refused(fault)].map(([place, why]) =>
        [now.entries[place]?.sku ?? '', why] as const);
      refuse(new Map(rows));
      tell(rows.length === 0 ? fault_text(look, fault)
        : look.say('counts.not_applied', { n: look.number(rows.length) }));
    }
  };
  return { asking, refused, ask_to_apply, close_it };
}

function ClosingButtons({ count, loaded, entering, refuse }: {
  count: ShownCount;
  loaded: Loaded<ShownCount>;
  entering: Entering;
  refuse: (faults: Faults) => void;
}) {
  const { look, session } = use_shell();
  const { asking, refused, ask_to_apply, close_it } = use_closing(count, loaded, refuse);
  const close = () => { asking.value = null; };
  return (
    <>
      {refused.value && <p class="failed">{refused.value}</p>}
      <div class="actions">
        {session.may('approve') ? count.entries.length > 0 && (
          <button type="button" class="main" onClick={() => void ask_to_apply()}>
            {look.say('counts.apply')}
          </button>
        ) : <span>{look.say('counts.by_managers')}</span>}
        {session.may('stock') && (
          <button type="button" class="grave" onClick={() => { asking.value = 'cancel'; }}>
            {look.say('counts.cancel')}
          </button>
        )}
      </div>
      {asking.value === 'apply' && (
        <Ask title={look.say('counts.apply_ask', { name: count.name })}
          action={look.say('counts.apply')} close={close} done={() => void close_it('apply')}>
          <ApplyAbout count={count} waiting={
            entering.attempts.value.reduce((n, attempt) => n + attempt.rows.length, 0)} />
        </Ask>
      )}
      {asking.value === 'cancel' && (
        <Ask title={look.say('counts.cancel_ask', { name: count.name })} is_grave
          action={look.say('counts.cancel')} close={close} done={() => void close_it('cancel')}>
          <p>{look.say('counts.cancel_about')}</p>
        </Ask>
      )}
    </>
  );
}

function use_counting(id: string) {
  const { api, look, notices, enterings, session } = use_shell();
  const person = session.caller.value?.name ?? '';
  const loaded = use_loaded((stop) => api.count(id, stop), [id]);
  const faults = useMemo(() => signal<Faults>(new Map()), [id]);
  const entered = (skus: ReadonlySet<string>, now: readonly CountEntry[]) => {
    const count = loaded.value.value;
    if (count) loaded.value.value = with_entries(count, skus, now);
    faults.value = new Map([...faults.value].filter(([sku]) => !skus.has(sku)));
    // What is on its way may not have it yet; and behind the first hundred that are left are more.
    if (loaded.status.value === 'loading' || count?.uncounted.length === 1) loaded.reload();
  };
  const entering = useMemo(() => enterings(person, id), [person, id]);
  useEffect(() => entering.watch({ entered, closed: loaded.reload }), [entering, loaded]);
  const take_back = async (sku: string) => {
    try {
      await api.enter_counted(id, [{ sku, quantity: null }]);
      entered(new Set([sku]), []);
      loaded.reload();
    } catch (fault) {
      notices.refused(fault_text(look, fault));
    }
  };
  const is_open = loaded.value.value?.state === 'open';
  useEffect(() => {
    if (!is_open) return undefined;
    const timer = setInterval(() => !document.hidden && loaded.reload(), look_every_ms);
    return () => clearInterval(timer);
  }, [is_open, loaded]);
  return { loaded, faults, entering, take_back };
}

export function CountScreen({ id }: { id: string }) {
  const { look, session } = use_shell();
  const { loaded, faults, entering, take_back } = use_counting(id);
  const form = useRef<HTMLFormElement>(null);
  const taking_back = useMemo(() => signal<string | null>(null), [id]);
  const choose = (sku: string) => {
    const field = (name: string) =>
      form.current?.elements.namedItem(name) as HTMLInputElement | null;
    const box = field('sku');
    if (box) box.value = sku;
    field('quantity')?.select();
  };
  return (
    <>
      <p><a href={address_of(['counts'])}>← {look.say('counts.title')}</a></p>
      <Shown loaded={loaded}>
        {(count) => {
          const is_open = count.state === 'open';
          const may_enter = is_open && session.may('stock');
          return (
            <>
              <h1>{count.name}</h1>
              <p><CountState of={count} /></p>
              <Facts of={count} />
              {is_open && (
                <ClosingButtons count={count} loaded={loaded} entering={entering}
                  refuse={(now) => { faults.value = now; }} />
              )}
              {may_enter && <CountEntryForm count={count} entering={entering} form={form} />}
              <CountAttempts entering={entering} />
              {may_enter && count.uncounted.length > 0 && (
                <Uncounted skus={count.uncounted} choose={choose} />
              )}
              <Sums of={count} />
              <Entries count={count} faults={faults.value}
                take_back={may_enter ? (sku) => { taking_back.value = sku; } : null} />
            </>
          );
        }}
      </Shown>
      {taking_back.value !== null && (
        <Ask title={look.say('counts.take_back_of', { sku: taking_back.value })}
          action={look.say('counts.take_back')} close={() => { taking_back.value = null; }}
          done={() => void take_back(taking_back.value ?? '')}>
          <p>{look.say('counts.take_back_about')}</p>
        </Ask>
      )}
    </>
  );
}
