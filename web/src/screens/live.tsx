// SPDX-License-Identifier: Apache-2.0
// A sale while it happens. The numbers change every second; screen readers are told of the
// connection only, and find the numbers in a table.
import { batch, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Connection } from '../event_stream';
import { watch_while_shown } from '../item_watch';
import { address_of } from '../route';
import { create_figures, type ItemFigures, type Sample } from '../sale_figures';
import { fault_text, use_shell } from '../shell';
import { Badge, type Tone } from '../widgets/badge';
import { Chart } from '../widgets/chart';
import { Field } from '../widgets/field';
import { Filters } from '../widgets/filters';
import { Nothing } from '../widgets/outcome';
import { Table } from '../widgets/table';

const tick_ms = 1000;
const samples_max = 900; // a quarter of an hour
const items_shown_max = 50;

const tones: Record<Connection, Tone> = {
  connecting: 'plain', open: 'good', waiting: 'warn', refused: 'bad',
};

function create_watch() {
  return {
    connection: signal<Connection>('connecting'),
    fault: signal<unknown>(null),
    unknown: signal<unknown>(null), // why there is no item to begin with
    has_gap: signal(false),
    items: signal<readonly ItemFigures[]>([]),
    samples: signal<readonly Sample[]>([]),
  };
}

function use_watch(sku: string, attempt: number) {
  const { api } = use_shell();
  const watch = useMemo(create_watch, [sku, attempt]);
  useEffect(() => {
    const figures = create_figures();
    const stop = new AbortController();
    if (sku !== '')
      api.item(sku, stop.signal).then(
        ({ item }) => figures.start_with(item),
        (fault) => { if (!stop.signal.aborted) watch.unknown.value = fault; });
    const end = watch_while_shown(api, sku, {
      event: (event) => figures.take(event, Date.now()),
      connection: (state, fault) => batch(() => {
        watch.connection.value = state;
        watch.fault.value = fault;
      }),
      gap: () => { watch.has_gap.value = true; },
    });
    const timer = setInterval(() => batch(() => {
      const now = Date.now();
      watch.items.value = figures.items(now).slice(0, items_shown_max);
      watch.samples.value = [...watch.samples.value.slice(1 - samples_max), figures.sample(now)];
    }), tick_ms);
    return () => {
      stop.abort();
      end();
      clearInterval(timer);
    };
  }, [watch]);
  return watch;
}

function Tiles({ item }: { item: ItemFigures }) {
  const { look } = use_shell();
  const left = item.remaining === 0 ? look.say('item.sold_out')
    : item.seconds_left === null ? look.say('live.not_at_this_pace')
      : look.duration(item.seconds_left);
  const tiles = [
    [look.say('live.remaining'), look.number(item.remaining)],
    [look.say('live.held'), look.number(item.held)],
    [look.say('live.rate'), look.number(Math.round(item.rate))],
    [look.say('live.sold'), look.number(item.sold)],
    [look.say('live.left'), left],
  ] as const;
  return (
    <dl class="tiles">
      {tiles.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}

// The units of several items are no sum that means something; their pace is.
function Charts({ samples, is_one_item }: { samples: readonly Sample[]; is_one_item: boolean }) {
  const { look } = use_shell();
  const column = (of: (sample: Sample) => number | null) => samples.map(of);
  const at = samples.map((sample) => sample.at);
  const last = samples[samples.length - 1];
  if (!last || samples.length < 2) return null;
  return (
    <>
      {is_one_item && (
        <Chart data={[at, column((s) => s.remaining), column((s) => s.held)]}
          series={[
            { label: look.say('live.remaining'), colour: 'one' },
            { label: look.say('live.held'), colour: 'two' },
          ]}
          summary={look.say('live.stock_summary')} />
      )}
      <Chart data={[at, column((s) => s.rate)]}
        series={[{ label: look.say('live.rate'), colour: 'three' }]}
        summary={look.say('live.rate_summary')} />
    </>
  );
}

function Fastest({ items }: { items: readonly ItemFigures[] }) {
  const { look } = use_shell();
  const left = (item: ItemFigures) =>
    item.seconds_left === null ? '–' : look.duration(item.seconds_left);
  return (
    <Table caption={look.say('live.fastest')} rows={items} id={(item) => item.sku} columns={[
      {
        title: look.say('sku'),
        cell: (item) => <a href={address_of(['live'], { sku: item.sku })}>{item.sku}</a>,
      },
      {
        title: look.say('live.rate'), is_number: true,
        cell: (item) => look.number(Math.round(item.rate)),
      },
      { title: look.say('live.remaining'), is_number: true, cell: (i) => look.number(i.remaining) },
      { title: look.say('live.held'), is_number: true, cell: (i) => look.number(i.held) },
      { title: look.say('live.sold'), is_number: true, cell: (i) => look.number(i.sold) },
      { title: look.say('live.left'), is_number: true, cell: left },
    ]} />
  );
}

export function LiveScreen() {
  const { look, router } = use_shell();
  const { sku = '' } = router.place.value.query;
  const attempt = useMemo(() => signal(0), []);
  const watch = use_watch(sku, attempt.value);
  const items = watch.items.value;
  const own = items.find((item) => item.sku === sku);
  const state = watch.connection.value;
  return (
    <>
      <h1>{look.say('live.title')}</h1>
      <Filters>
        <Field label={look.say('sku')} name="sku" defaultValue={sku} hint={look.say('live.hint')} />
      </Filters>
      <p role="status"><Badge tone={tones[state]} says={`connection.${state}`} />{' '}
        {state !== 'open' && watch.fault.value !== null && fault_text(look, watch.fault.value)}
        {watch.has_gap.value && look.say('live.gap')}
      </p>
      {state === 'refused' && (
        <button type="button" onClick={() => { attempt.value += 1; }}>
          {look.say('try_again')}
        </button>
      )}
      {watch.unknown.value !== null && (
        <p class="failed" role="alert">{fault_text(look, watch.unknown.value)}</p>
      )}
      {items.length === 0 && watch.unknown.value === null && (
        <Nothing>{look.say('live.empty')}</Nothing>
      )}
      {own && <Tiles item={own} />}
      {items.length > 0 && (
        <Charts key={sku} samples={watch.samples.value} is_one_item={sku !== ''} />
      )}
      {sku === '' && items.length > 0 && <Fastest items={items} />}
    </>
  );
}
