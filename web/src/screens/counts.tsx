// SPDX-License-Identifier: Apache-2.0
// Shelves that are counted while units are sold: those so far, and a new one.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { CountDraft, StockCount } from '../api';
import { address_of } from '../route';
import { use_presence, use_shell } from '../shell';
import { Badge, type Tone } from '../widgets/badge';
import { Dialog } from '../widgets/dialog';
import { Choice, Field, Lines, typed } from '../widgets/field';
import { Filters } from '../widgets/filters';
import { Form } from '../widgets/form';
import { use_list } from '../widgets/loading';
import { ListShown } from '../widgets/outcome';
import { Table } from '../widgets/table';

const page_rows = 50;
const scopes = ['all', 'prefix', 'list'] as const;
type Scope = (typeof scopes)[number];

const tones: Record<StockCount['state'], Tone> = {
  open: 'warn', applied: 'good', cancelled: 'plain',
};

export function CountState({ of }: { of: StockCount }) {
  return <Badge tone={tones[of.state]} says={`count.${of.state}`} />;
}

function draft_in(form: HTMLFormElement, scope: Scope): CountDraft {
  const lines = typed(form, 'skus').split('\n').map((line) => line.trim());
  return {
    name: typed(form, 'name'),
    location: typed(form, 'location'),
    note: typed(form, 'note') || null,
    ...(scope === 'prefix' ? { sku_prefix: typed(form, 'sku_prefix') } : {}),
    ...(scope === 'list' ? { skus: [...new Set(lines.filter((line) => line !== ''))] } : {}),
  };
}

function NewCount({ close }: { close: () => void }) {
  const { api, look, notices, router } = use_shell();
  const is_here = use_presence();
  const scope = useMemo(() => signal<Scope>('all'), []);
  const send = async (form: HTMLFormElement) => {
    const opened = await api.open_count(draft_in(form, scope.value));
    if (is_here()) router.go(address_of(['counts', opened.id]));
    else notices.done(look.say('counts.was_opened', { name: opened.name }));
  };
  return (
    <Dialog title={look.say('counts.new')} close={close}>
      <Form action={look.say('counts.open')} send={send} close={close}>
        <Field label={look.say('name')} name="name" required maxLength={200} pattern=".*\S.*"
          autocomplete="off" hint={look.say('counts.name_hint')} />
        <Field label={look.say('location')} name="location" required defaultValue="main"
          maxLength={50} pattern="[a-z0-9_\-]+" />
        <Choice label={look.say('counts.scope')} name="scope" value={scope.value}
          onChange={(event) => { scope.value = event.currentTarget.value as Scope; }}>
          {scopes.map((one) => (
            <option key={one} value={one}>{look.say(`counts.scope.${one}`)}</option>
          ))}
        </Choice>
        {scope.value === 'prefix' && (
          <Field label={look.say('webhooks.prefix')} name="sku_prefix" required maxLength={100}
            autocomplete="off" />
        )}
        {scope.value === 'list' && (
          <Lines label={look.say('counts.skus')} name="skus" required rows={6} spellcheck={false} />
        )}
        <Field label={look.say('counts.note')} name="note" maxLength={1000} autocomplete="off" />
      </Form>
    </Dialog>
  );
}

export function CountsScreen() {
  const { api, look, router, session } = use_shell();
  const { open = '' } = router.place.value.query;
  const list = use_list<StockCount>(
    (cursor, stop) => api.counts({ open, cursor, limit: page_rows }, stop), [open]);
  const is_opening = useMemo(() => signal(false), []);
  return (
    <>
      <h1>{look.say('counts.title')}</h1>
      <p>{look.say('counts.about')}</p>
      {session.may('stock') && (
        <div class="actions">
          <button type="button" class="main" onClick={() => { is_opening.value = true; }}>
            {look.say('counts.new')}
          </button>
        </div>
      )}
      <Filters>
        <Choice label={look.say('state')} name="open">
          <option value="">{look.say('all')}</option>
          <option value="true" selected={open === 'true'}>{look.say('count.open')}</option>
        </Choice>
      </Filters>
      <ListShown list={list} empty={look.say(open ? 'counts.none_open' : 'counts.empty')}>
        {(rows) => (
          <Table caption={look.say('counts.title')} rows={rows} id={(c) => c.id} columns={[
            {
              title: look.say('name'),
              cell: (c) => <a href={address_of(['counts', c.id])}>{c.name}</a>,
            },
            { title: look.say('location'), cell: (c) => c.location },
            { title: look.say('state'), cell: (c) => <CountState of={c} /> },
            {
              title: look.say('counts.entries'), is_number: true,
              cell: (c) => look.number(c.entry_count),
            },
            {
              title: look.say('counts.differing'), is_number: true,
              cell: (c) => look.number(c.difference_count),
            },
            { title: look.say('counts.opened'), cell: (c) => look.time(c.opened_at) },
            { title: look.say('actor'), cell: (c) => c.opened_by },
            { title: look.say('counts.closed'), cell: (c) => look.time(c.closed_at) },
          ]} />
        )}
      </ListShown>
      {is_opening.value && <NewCount close={() => { is_opening.value = false; }} />}
    </>
  );
}
