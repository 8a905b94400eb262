// SPDX-License-Identifier: Apache-2.0
// One item: what there is and why, how it came to that, and the rules it is sold by.
import { signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Item, Level, LevelExplanation, Movement, MovementKind } from '../api';
import { use_item_changes } from '../item_watch';
import type { Look } from '../look';
import { address_of } from '../route';
import { use_shell } from '../shell';
import type { Seen } from '../settings_saving';
import { create_editing, may_go_on, refused_text } from '../stock_editing';
import { GoOn } from '../widgets/go_on';
import { HoldLine } from '../widgets/hold_line';
import { use_list, use_loaded } from '../widgets/loading';
import { ListShown, Nothing, Shown, Waiting } from '../widgets/outcome';
import { LevelEditor } from '../widgets/level_editor';
import { StockChart } from '../widgets/stock_chart';
import { SaleSwitch } from '../widgets/sale_switch';
import { SettingsForm, SettingsList } from '../widgets/settings_form';
import { Table } from '../widgets/table';
import { ItemState } from './stock';

const movements_a_page = 100;

// Reasons that say no more than the kind does.
const implied: Partial<Record<MovementKind, Movement['reason']>> = {
  received: 'received', counted: 'count', returned: 'returned',
};

export function what_of(look: Look, { kind, reason }: Pick<Movement, 'kind' | 'reason'>): string {
  const what = look.say(`kind.${kind}`);
  return reason && reason !== implied[kind] ? `${what}, ${look.say(`reason.${reason}`)}` : what;
}

function LevelNumber({ item, level, edit }: { item: Item; level: Level; edit: () => void }) {
  const { look, session } = use_shell();
  const n = look.number(level.on_hand);
  if (!session.may('stock')) return <>{n}</>;
  return (
    <button type="button" class="figure" onClick={edit}
      aria-label={look.say('edit.of_level', { n, sku: item.sku, location: level.location })}>
      {n}
    </button>
  );
}

function Levels({ item, show, changed }: {
  item: Item;
  show: (change: (item: Item) => Item) => void;
  changed: () => void;
}) {
  const shell = use_shell();
  const { look } = shell;
  const edited = useMemo(() => signal<string | null>(null), [item.sku]);
  const editing = useMemo(() => create_editing(shell, (_, change) => show(change)), [item.sku]);
  const refused = editing.refused.value.get(item.sku);
  const is_saving = editing.saving.value.has(item.sku);
  const save = async (...what: Parameters<typeof editing.save>) => {
    await editing.save(...what);
    changed();
  };
  return (
    <section aria-labelledby="levels">
      <h2 id="levels">{look.say('item.levels')}</h2>
      {refused && (
        <div class="failed">
          <p>{refused_text(look, refused)}</p>
          {!is_saving && may_go_on(refused) && (
            <GoOn refused={refused} item={item} editing={editing} done={changed} />
          )}
        </div>
      )}
      {item.levels.length === 0 ? <Nothing>{look.say('item.no_levels')}</Nothing> : (
        <Table caption={look.say('item.levels')} rows={item.levels} id={(level) => level.location}
          columns={[
            { title: look.say('location'), cell: (level) => level.location },
            {
              title: look.say('on_hand'), is_number: true,
              cell: (level) => edited.value === level.location ? (
                <LevelEditor item={item} location={level.location}
                  cancel={() => { edited.value = null; }}
                  save={(command) => {
                    edited.value = null;
                    void save(item, command);
                  }} />
              ) : <LevelNumber item={item} level={level}
                edit={() => { if (!is_saving) edited.value = level.location; }} />,
            },
            { title: look.say('reserved'), is_number: true, cell: (l) => look.number(l.reserved) },
            {
              title: look.say('available'), is_number: true,
              cell: (l) => look.number(l.available),
            },
            {
              title: look.say('short'), is_number: true,
              cell: (l) => (l.short ? <strong>{look.number(l.short)}</strong> : '–'),
            },
          ]} />
      )}
    </section>
  );
}

function LevelWhy({ level }: { level: LevelExplanation }) {
  const { look } = use_shell();
  const { brought_forward: before, more_holds: more } = level;
  return (
    <details open>
      <summary>
        {look.say('why.sum', {
          location: level.location, on_hand: look.number(level.on_hand),
          reserved: look.number(level.reserved),
        })}
      </summary>
      <ul>
        {before && (
          <li>
            {look.say('why.before', {
              n: look.number(before.on_hand), version: look.number(before.version),
            })}
          </li>
        )}
        {level.sums.map((sum) => (
          <li key={`${sum.kind} ${sum.reason}`}>
            <span class="number">{look.signed(sum.on_hand_delta)}</span>{' '}
            {what_of(look, sum)}{' '}
            ({look.say('why.movements', { n: look.number(sum.movements) })})
          </li>
        ))}
      </ul>
      {level.holds.length > 0 && (
        <>
          <h3>{look.say('why.holds')}</h3>
          <ul>
            {level.holds.map((hold) => <HoldLine key={hold.reservation_id} hold={hold} />)}
            {more && more.count > 0 && (
              <li>
                {look.say('why.more', {
                  count: look.number(more.count), n: look.number(more.quantity),
                })}
              </li>
            )}
          </ul>
        </>
      )}
    </details>
  );
}

function Why({ sku, at }: { sku: string; at: number }) {
  const { api, look } = use_shell();
  const loaded = use_loaded((stop) => api.why(sku, stop), [sku]);
  useEffect(() => {
    if (at > 0) loaded.reload();
  }, [at]);
  return (
    <section aria-labelledby="why">
      <h2 id="why">{look.say('why.title')}</h2>
      <Shown loaded={loaded}>
        {({ levels }) => levels.map((level) => <LevelWhy key={level.location} level={level} />)}
      </Shown>
    </section>
  );
}

function Ledger({ sku, at }: { sku: string; at: number }) {
  const { api, look } = use_shell();
  const list = use_list<Movement>(
    (cursor, stop) => api.movements(sku, cursor, movements_a_page, stop), [sku]);
  useEffect(() => {
    if (at > 0) void list.catch_up((m) => m.id);
  }, [at]);
  const change = (delta: number) => (delta === 0 ? '' : look.signed(delta));
  return (
    <>
      <section aria-labelledby="chart">
        <h2 id="chart">{look.say('chart.title')}</h2>
        {list.rows.value.length > 0 || list.is_whole.value
          ? <StockChart movements={list.rows.value} />
          : list.status.value === 'loading' && <Waiting />}
      </section>
      <section aria-labelledby="ledger">
        <h2 id="ledger">{look.say('ledger.title')}</h2>
        <ListShown list={list} empty={look.say('ledger.empty')}>
          {(rows) => (
            <Table caption={look.say('ledger.title')} rows={rows} id={(m) => m.id} columns={[
              { title: look.say('time'), is_time: true, cell: (m) => look.time(m.at) },
              { title: look.say('location'), cell: (m) => m.location },
              { title: look.say('ledger.what'), cell: (m) => what_of(look, m) },
              { title: look.say('on_hand'), is_number: true, cell: (m) => look.number(m.on_hand) },
              { title: '±', is_number: true, cell: (m) => change(m.on_hand_delta) },
              {
                title: look.say('reserved'), is_number: true, cell: (m) => look.number(m.reserved),
              },
              {
                title: `± ${look.say('reserved')}`, is_number: true,
                cell: (m) => change(m.reserved_delta),
              },
              { title: look.say('actor'), cell: (m) => m.actor },
              {
                title: look.say('ledger.about'),
                cell: (m) => (
                  <>
                    {m.reservation_id && (
                      <a href={address_of(['reservations', m.reservation_id])}>
                        {m.reference ?? look.say('reservation')}
                      </a>
                    )}
                    {!m.reservation_id && m.reference} {m.note}
                  </>
                ),
              },
            ]} />
          )}
        </ListShown>
      </section>
    </>
  );
}

function SettingsShown({ seen, changed }: { seen: Seen; changed: (now: Seen) => void }) {
  const { look, session } = use_shell();
  return (
    <section aria-labelledby="settings">
      <h2 id="settings">{look.say('settings.title')}</h2>
      {session.may('settings') ? <SettingsForm seen={seen} changed={changed} />
        : <SettingsList item={seen.item} />}
    </section>
  );
}

export function ItemScreen({ sku }: { sku: string }) {
  const { api, look } = use_shell();
  const loaded = use_loaded((stop) => api.item(sku, stop), [sku]);
  const changes = useMemo(() => signal(0), [sku]);
  const show = (change: (item: Item) => Item) => {
    const now = loaded.value.value;
    if (now) loaded.value.value = { ...now, item: change(now.item) };
  };
  const changed = (now: Seen) => { loaded.value.value = now; };
  const moved = () => { changes.value += 1; };
  // Only the numbers, so that nobody loses settings that are being typed.
  use_item_changes(sku, () => {
    moved();
    api.item(sku).then(({ item: { levels, on_hand, reserved, available } }) =>
      show((item) => ({ ...item, levels, on_hand, reserved, available })),
    () => { /* what is shown was true; the next change tries again */ });
  });
  return (
    <>
      <p><a href={address_of(['stock'])}>← {look.say('stock.title')}</a></p>
      <Shown loaded={loaded}>
        {({ item, tag }) => (
          <>
            <h1>{item.name ?? item.sku}</h1>
            <p><code>{item.sku}</code> <ItemState item={item} />{' '}
              <a href={address_of(['live'], { sku })}>{look.say('live.watch')}</a></p>
            <SaleSwitch seen={{ item, tag }} changed={changed} />
            <Levels item={item} show={show} changed={moved} />
            <Why sku={sku} at={changes.value} />
            <SettingsShown seen={{ item, tag }} changed={changed} />
            <Ledger sku={sku} at={changes.value} />
          </>
        )}
      </Shown>
    </>
  );
}
