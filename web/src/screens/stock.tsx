// SPDX-License-Identifier: Apache-2.0
// Everything in stock, as a grid that is worked from the keyboard.
import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Item } from '../api';
import { sale_phase } from '../item_settings';
import { address_of } from '../route';
import { use_shell } from '../shell';
import { create_editing, may_go_on, refused_text, type Editing } from '../stock_editing';
import { Badge } from '../widgets/badge';
import { Check } from '../widgets/field';
import { GoOn } from '../widgets/go_on';
import { Help } from '../widgets/help';
import { LevelEditor } from '../widgets/level_editor';
import { use_list, type Listed } from '../widgets/loading';
import { Failed, Nothing } from '../widgets/outcome';
import { bring_into_view, row_height_px, VirtualRows } from '../widgets/virtual_rows';

const page_rows = 200;
const search_pause_ms = 250;

export function is_sold_out(item: Item) {
  return item.available === 0;
}

export function ItemState({ item }: { item: Item }) {
  const is_low = item.low_stock_at !== null && item.available <= item.low_stock_at;
  const phase = sale_phase(item, Date.now());
  if (phase === 'paused') return <Badge tone="plain" says="item.paused" />;
  if (item.levels.some((level) => level.short)) return <Badge tone="bad" says="item.short" />;
  if (is_sold_out(item)) return <Badge tone="bad" says="item.sold_out" />;
  if (phase === 'to_come') return <Badge tone="plain" says="item.to_come" />;
  if (phase === 'over') return <Badge tone="plain" says="item.over" />;
  if (is_low) return <Badge tone="warn" says="item.low" />;
  return <Badge tone="good" says="item.on_sale" />;
}

function Search({ q, low, box, enter_grid }: {
  q: string;
  low: boolean;
  box: { current: HTMLInputElement | null };
  enter_grid: () => void;
}) {
  const { look, router } = use_shell();
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const searched = useRef(q);
  useEffect(() => () => clearTimeout(timer.current), []);
  // By another way than this box: it says what is shown.
  useEffect(() => {
    if (q === searched.current) return;
    searched.current = q;
    if (box.current) box.current.value = q;
  }, [q]);
  const search = () => {
    clearTimeout(timer.current);
    searched.current = box.current?.value.trim() ?? '';
    router.filter({ q: searched.current });
  };
  const search_soon = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(search, search_pause_ms);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown' && event.key !== 'Enter' && event.key !== 'Escape') return;
    event.preventDefault();
    search();
    enter_grid();
  };
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <input ref={box} type="search" defaultValue={q} aria-label={look.say('stock.search')}
        placeholder={look.say('stock.search')} maxLength={100} aria-keyshortcuts="/"
        onInput={search_soon} onKeyDown={keys} />
      <Check label={look.say('stock.only_low')} name="low" checked={low}
        onChange={(event) => router.filter({ low: event.currentTarget.checked ? 'true' : '' })} />
    </form>
  );
}

function Row({ item, index, is_current, is_edited, editing, choose, edit, leave }: {
  item: Item;
  index: number;
  is_current: boolean;
  is_edited: boolean;
  editing: Editing;
  choose: () => void;
  edit: () => void;
  leave: () => void;
}) {
  const { look, session } = use_shell();
  const refused = editing.refused.value.get(item.sku);
  const why = refused ? refused_text(look, refused) : null;
  const is_saving = editing.saving.value.has(item.sku);
  const kinds = ['row', is_current && 'current', refused && 'refused', is_saving && 'saving'];
  return (
    <div role="row" id={`row-${index}`} aria-rowindex={index + 2} aria-selected={is_current}
      class={kinds.filter(Boolean).join(' ')} onClick={choose}
      onDblClick={(event) => { if (!(event.target as Element).closest('button')) edit(); }}>
      <div role="gridcell">
        <a href={address_of(['stock', item.sku])} tabIndex={-1}>{item.sku}</a>
      </div>
      {is_edited ? (
        <div role="gridcell" class="wide">
          <LevelEditor item={item} cancel={leave} save={(command) => {
            leave();
            void editing.save(item, command);
          }} />
        </div>
      ) : (
        <>
          <div role="gridcell" class="name">
            {why !== null ? <span class="why" title={why}>{why}</span> : item.name}
          </div>
          <div role="gridcell" class="number">
            {session.may('stock') ? (
              <button type="button" class="figure" tabIndex={-1} onClick={edit}
                aria-label={look.say('edit.of', { n: look.number(item.on_hand) })}>
                {look.number(item.on_hand)}
              </button>
            ) : look.number(item.on_hand)}
          </div>
          <div role="gridcell" class="number">{look.number(item.reserved)}</div>
          <div role="gridcell" class="number">{look.number(item.available)}</div>
          <div role="gridcell">
            {is_saving ? look.say('saving')
              : may_go_on(refused) ? <GoOn refused={refused} item={item} editing={editing} />
                : <ItemState item={item} />}
          </div>
        </>
      )}
    </div>
  );
}

function Grid({ list, editing, focus_search, show_help, grid }: {
  list: Listed<Item>;
  editing: Editing;
  focus_search: () => void;
  show_help: () => void;
  grid: { current: HTMLDivElement | null };
}) {
  const { look, router, session } = use_shell();
  const current = useMemo(() => signal(0), [list]);
  const edited = useMemo(() => signal<number | null>(null), [list]);
  const rows = list.rows.value;

  const move = (to: number) => {
    current.value = Math.max(0, Math.min(rows.length - 1, to));
    if (grid.current) bring_into_view(grid.current, current.value, row_height_px);
  };
  const edit = (index: number) => {
    const { sku } = rows[index] ?? {};
    if (!session.may('stock') || !sku || editing.saving.value.has(sku)) return;
    current.value = index;
    edited.value = index;
  };
  const leave = () => {
    edited.value = null;
    grid.current?.focus({ preventScroll: true });
  };
  const page = () => Math.max(1, Math.floor((grid.current?.clientHeight ?? 0) / row_height_px) - 2);
  const keys = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== grid.current) return;
    const item = rows[current.value];
    const actions: Record<string, () => void> = {
      ArrowDown: () => move(current.value + 1),
      ArrowUp: () => move(current.value - 1),
      PageDown: () => move(current.value + page()),
      PageUp: () => move(current.value - page()),
      Home: () => move(0),
      End: () => move(rows.length - 1),
      Enter: () => item && edit(current.value),
      F2: () => item && edit(current.value),
      o: () => item && router.go(address_of(['stock', item.sku])),
      Escape: () => item && editing.forget(item.sku),
      '/': focus_search,
      '?': show_help,
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
  const titles = ['sku', 'name', 'on_hand', 'reserved', 'available', 'state'] as const;
  const is_number = (title: string) => ['on_hand', 'reserved', 'available'].includes(title);
  const is_seen = edited.value === null && rows.length > 0;
  return (
    <div ref={grid} class="grid" role="grid" tabIndex={0} aria-label={look.say('stock.title')}
      aria-rowcount={list.is_whole.value ? rows.length + 1 : -1} aria-keyshortcuts="/ ? Enter"
      aria-busy={list.status.value === 'loading'}
      aria-activedescendant={is_seen ? `row-${current.value}` : undefined} onKeyDown={keys}>
      <div role="row" class="row head" aria-rowindex={1}>
        {titles.map((title) => (
          <div key={title} role="columnheader" class={is_number(title) ? 'number' : ''}>
            {look.say(title)}
          </div>
        ))}
      </div>
      <VirtualRows scroller={grid} count={rows.length}
        near_end={() => list.status.value === 'ready' && list.more()}
        row={(index) => {
          const item = rows[index];
          return item && (
            <Row key={item.sku} item={item} index={index} editing={editing}
              is_current={current.value === index} is_edited={edited.value === index}
              choose={() => { current.value = index; }} edit={() => edit(index)} leave={leave} />
          );
        }} />
    </div>
  );
}

export function StockScreen() {
  const shell = use_shell();
  const { look, router, api, session } = shell;
  const { q = '', low = '' } = router.place.value.query;
  const is_low = low === 'true';
  const list = use_list<Item>(
    (cursor, stop) => api.items({ q, low: is_low, limit: page_rows, cursor }, stop), [q, is_low]);
  // A search makes another list; what is being saved meanwhile shows in that one.
  const shown = useRef(list);
  shown.current = list;
  const editing = useMemo(() => create_editing(shell, (sku, change) => {
    shown.current.change((item) => item.sku === sku, change);
  }), []);
  const box = useRef<HTMLInputElement>(null);
  const grid = useRef<HTMLDivElement>(null);
  const help = useMemo(() => signal(false), []);

  const focus_search = () => box.current?.select();
  const show_help = () => { help.value = true; };
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      const at = event.target as HTMLElement;
      if (at.closest('input, select, textarea, dialog') || event.ctrlKey || event.metaKey) return;
      if (event.key !== '/' && event.key !== '?') return;
      event.preventDefault();
      if (event.key === '/') focus_search();
      else show_help();
    };
    window.addEventListener('keydown', keys);
    return () => window.removeEventListener('keydown', keys);
  }, []);

  const count = list.rows.value.length;
  const is_whole = list.is_whole.value;
  const is_loading = list.status.value === 'loading';
  return (
    <section class="filling" aria-labelledby="title">
      <header class="bar">
        <h1 id="title">{look.say('stock.title')}</h1>
        <Search q={q} low={is_low} box={box} enter_grid={() => grid.current?.focus()} />
        <button type="button" onClick={show_help} aria-keyshortcuts="?">{look.say('help')}</button>
      </header>
      {list.status.value === 'failed' && <Failed fault={list.fault.value} again={list.more} />}
      {count === 0 && is_whole && (
        <Nothing>
          {q || is_low ? look.say('stock.none_found') : look.say('stock.empty')}{' '}
          {!q && !is_low && session.may('stock') && (
            <a href={address_of(['imports'])}>{look.say('stock.import_first')}</a>
          )}
        </Nothing>
      )}
      <Grid list={list} editing={editing} grid={grid} focus_search={focus_search}
        show_help={show_help} />
      <p class="foot" role="status">
        {is_loading ? look.say('loading')
          : look.say(is_whole ? 'stock.count' : 'stock.count_more', { n: look.number(count) })}
      </p>
      {help.value && <Help close={() => { help.value = false; }} />}
    </section>
  );
}
