// SPDX-License-Identifier: Apache-2.0
// What a manager asks about all items at once: what is low, what has been held for long, and what
// moved in a period.
import { signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { LowItem, MovementSum, OldHold } from '../api';
import { address_of } from '../route';
import { use_shell } from '../shell';
import { Choice, Field } from '../widgets/field';
import { Filters } from '../widgets/filters';
import { use_list } from '../widgets/loading';
import { ListShown } from '../widgets/outcome';
import { Table } from '../widgets/table';
import { what_of } from './item';

const page_rows = 100;
const report_names = ['low-stock', 'held-longest', 'movements'] as const;
export type ReportName = (typeof report_names)[number];

export function is_report(name: string): name is ReportName {
  return (report_names as readonly string[]).includes(name);
}

function Download({ report, query = {} }: {
  report: ReportName;
  query?: Record<string, string>;
}) {
  const { api, look } = use_shell();
  return <p><a href={api.report_file(report, query)} download>{look.say('reports.csv')}</a></p>;
}

function LowStock() {
  const { api, look } = use_shell();
  const list = use_list<LowItem>(
    (cursor, stop) => api.low_stock({ cursor, limit: page_rows }, stop), []);
  return (
    <ListShown list={list} empty={look.say('reports.low-stock.empty')}>
      {(rows) => (
        <Table caption={look.say('reports.low-stock')} rows={rows} id={(i) => i.sku} columns={[
          {
            title: look.say('sku'),
            cell: (i) => <a href={address_of(['stock', i.sku])}>{i.sku}</a>,
          },
          { title: look.say('name'), cell: (i) => i.name ?? '–' },
          {
            title: look.say('available'), is_number: true,
            cell: (i) => <strong>{look.number(i.available)}</strong>,
          },
          {
            title: look.say('settings.low'), is_number: true,
            cell: (i) => look.number(i.low_stock_at),
          },
          { title: look.say('on_hand'), is_number: true, cell: (i) => look.number(i.on_hand) },
          { title: look.say('reserved'), is_number: true, cell: (i) => look.number(i.reserved) },
        ]} />
      )}
    </ListShown>
  );
}

function HeldLongest() {
  const { api, look } = use_shell();
  const is_complete = useMemo(() => signal(true), []);
  const list = use_list<OldHold>(async (cursor, stop) => {
    const page = await api.held_longest({ cursor, limit: page_rows }, stop);
    is_complete.value = page.complete;
    return page;
  }, []);
  const age = (hold: OldHold) => look.duration((Date.now() - Date.parse(hold.created_at)) / 1000);
  return (
    <>
      {!is_complete.value && <p role="note">{look.say('reports.held-longest.some')}</p>}
      <ListShown list={list} empty={look.say('reports.held-longest.empty')}>
        {(rows) => (
          <Table caption={look.say('reports.held-longest')} rows={rows}
            id={(h) => h.reservation_id} columns={[
              {
                title: look.say('reservation'),
                cell: (h) => (
                  <a href={address_of(['reservations', h.reservation_id])}>
                    {h.reference ?? h.reservation_id}
                  </a>
                ),
              },
              { title: look.say('customer'), cell: (h) => h.customer ?? '–' },
              { title: look.say('reports.age'), is_number: true, cell: age },
              { title: look.say('made'), cell: (h) => look.time(h.created_at) },
              { title: look.say('reservations.until'), cell: (h) => look.time(h.expires_at) },
              {
                title: look.say('reports.lines'), is_number: true,
                cell: (h) => look.number(h.lines),
              },
              {
                title: look.say('quantity'), is_number: true, cell: (h) => look.number(h.quantity),
              },
            ]} />
        )}
      </ListShown>
    </>
  );
}

// A day of the reader's own, as a field for dates has it.
function day_text(day: Date): string {
  const two = (n: number) => String(n).padStart(2, '0');
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

function days_from(day: Date, days: number): Date {
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + days);
}

const periods = [['reports.today', 0], ['reports.week', 6], ['reports.month', 29]] as const;
const default_days_back = 6;

// Shown from the middle of its column: to the right what came, to the left what went.
function Bar({ of, most }: { of: number; most: number }) {
  const width = most === 0 ? 0 : (50 * Math.abs(of)) / most;
  return (
    <div class="balance" aria-hidden="true">
      <span class={of < 0 ? 'went' : 'came'}
        style={{ width: `${width}%`, left: `${of < 0 ? 50 - width : 50}%` }} />
    </div>
  );
}

function Sums({ rows }: { rows: readonly MovementSum[] }) {
  const { look } = use_shell();
  const units = (is_meant: (sum: MovementSum) => boolean) =>
    rows.filter(is_meant).reduce((n, sum) => n + sum.on_hand_delta, 0);
  const tiles = [
    [look.say('kind.confirmed'), look.number(-units((sum) => sum.kind === 'confirmed'))],
    [look.say('kind.received'), look.number(units((sum) => sum.kind === 'received'))],
    [look.say('kind.returned'), look.number(units((sum) => sum.kind === 'returned'))],
    [look.say('reports.net'), look.signed(units(() => true))],
  ] as const;
  return (
    <dl class="tiles">
      {tiles.map(([name, what]) => <div key={name}><dt>{name}</dt><dd>{what}</dd></div>)}
    </dl>
  );
}

function SumTable({ rows, is_by_sku }: { rows: readonly MovementSum[]; is_by_sku: boolean }) {
  const { look } = use_shell();
  const most = Math.max(0, ...rows.map((sum) => Math.abs(sum.on_hand_delta)));
  const change = (delta: number) => (delta === 0 ? '' : look.signed(delta));
  return (
    <Table caption={look.say('reports.movements')} rows={rows}
      id={(s) => `${s.sku} ${s.kind} ${s.reason}`} columns={[
        ...(is_by_sku ? [{
          title: look.say('sku'),
          cell: (s: MovementSum) => <a href={address_of(['stock', s.sku ?? ''])}>{s.sku}</a>,
        }] : []),
        { title: look.say('ledger.what'), cell: (s) => what_of(look, s) },
        {
          title: look.say('reports.count'), is_number: true, cell: (s) => look.number(s.movements),
        },
        {
          title: `± ${look.say('on_hand')}`, is_number: true, cell: (s) => change(s.on_hand_delta),
        },
        {
          title: look.say('reports.balance'), cell: (s) => <Bar of={s.on_hand_delta} most={most} />,
        },
        {
          title: `± ${look.say('reserved')}`, is_number: true,
          cell: (s) => change(s.reserved_delta),
        },
      ]} />
  );
}

// From the beginning of the first day to the end of the last.
function period_of(first: string, last: string) {
  const instant = (day: Date) => (Number.isNaN(day.getTime()) ? '' : day.toISOString());
  return {
    from: instant(new Date(`${first}T00:00`)),
    to: instant(days_from(new Date(`${last}T00:00`), 1)),
  };
}

function Movements() {
  const { api, look, router } = use_shell();
  const today = new Date();
  const first = day_text(days_from(today, -default_days_back));
  const { from = first, to = day_text(today), by = '' } = router.place.value.query;
  // The period stands in the address, so that a colleague to whom it is sent sees the same.
  useEffect(() => router.filter({ from, to }), [from, to]);
  const period = period_of(from, to);
  const list = use_list<MovementSum>(
    (cursor, stop) => api.movement_sums({ ...period, by, cursor, limit: page_rows }, stop),
    [from, to, by]);
  const is_by_sku = by === 'sku';
  return (
    <>
      <ul class="buttons periods">
        {periods.map(([says, back]) => (
          <li key={says}>
            <a href={address_of(['reports', 'movements'],
              { from: day_text(days_from(today, -back)), to: day_text(today), by })}>
              {look.say(says)}
            </a>
          </li>
        ))}
      </ul>
      <Filters>
        <Field label={look.say('reports.from')} name="from" type="date" required />
        <Field label={look.say('reports.to')} name="to" type="date" required />
        <Choice label={look.say('reports.by')} name="by">
          <option value="">{look.say('reports.by.reason')}</option>
          <option value="sku" selected={is_by_sku}>{look.say('reports.by.sku')}</option>
        </Choice>
      </Filters>
      <Download report="movements" query={{ ...period, by }} />
      <ListShown list={list} empty={look.say('reports.movements.empty')}>
        {(rows) => (
          <>
            {!is_by_sku && <Sums rows={rows} />}
            <SumTable rows={rows} is_by_sku={is_by_sku} />
          </>
        )}
      </ListShown>
    </>
  );
}

export function ReportsScreen({ report }: { report: ReportName }) {
  const { look } = use_shell();
  return (
    <>
      <h1>{look.say('reports.title')}</h1>
      <nav aria-label={look.say('reports.title')}>
        <ul>
          {report_names.map((name) => (
            <li key={name}>
              <a href={address_of(['reports', name])}
                aria-current={name === report ? 'page' : undefined}>
                {look.say(`reports.${name}`)}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <section aria-labelledby="report">
        <h2 id="report">{look.say(`reports.${report}`)}</h2>
        <p>{look.say(`reports.${report}.about`)}</p>
        {report !== 'movements' && <Download report={report} />}
        {report === 'low-stock' && <LowStock />}
        {report === 'held-longest' && <HeldLongest />}
        {report === 'movements' && <Movements />}
      </section>
    </>
  );
}
