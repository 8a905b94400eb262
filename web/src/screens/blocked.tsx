// SPDX-License-Identifier: Apache-2.0
// Customers to whom nothing more is promised.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { BlockedCustomer } from '../api';
import { fault_text, use_shell } from '../shell';
import { Ask } from '../widgets/ask';
import { Field, typed } from '../widgets/field';
import { use_list } from '../widgets/loading';
import { ListShown } from '../widgets/outcome';
import { Table } from '../widgets/table';

const page_rows = 100;

const once_each = (rows: readonly BlockedCustomer[]) =>
  [...new Map(rows.map((one) => [one.customer, one])).values()];

function type_into(form: HTMLFormElement, name: string, text: string) {
  const field = form.elements.namedItem(name);
  if (field instanceof HTMLInputElement) field.value = text;
}

function BlockForm({ block }: { block: (form: HTMLFormElement) => void }) {
  const { look } = use_shell();
  return (
    <form class="filters" aria-label={look.say('blocked.block')} onSubmit={(event) => {
      event.preventDefault();
      block(event.currentTarget);
    }}>
      <Field label={look.say('customer')} name="customer" required maxLength={200}
        pattern=".*\S.*" autocomplete="off" />
      <Field label={look.say('reason')} name="reason" required maxLength={500} pattern=".*\S.*"
        autocomplete="off" />
      <button type="submit" class="grave">{look.say('blocked.block')}</button>
    </form>
  );
}

export function BlockedScreen() {
  const { api, look, notices, session } = use_shell();
  const may_change = session.may('settings');
  const list = use_list<BlockedCustomer>(
    (cursor, stop) => api.blocked({ cursor, limit: page_rows }, stop), []);
  const asking = useMemo(() => signal<string | null>(null), []);

  const put_first = (row: BlockedCustomer) => {
    list.rows.value =
      [row, ...list.rows.value.filter(({ customer }) => customer !== row.customer)];
  };
  // Shown at once, and taken back when it is refused. The list is by customer; a new one stands
  // first until the list is loaded anew, also when its own place is reached.
  const block = async (form: HTMLFormElement) => {
    const customer = typed(form, 'customer');
    const reason = typed(form, 'reason');
    const before = list.rows.value.find((one) => one.customer === customer);
    form.reset(); // what is typed from now on is the next one
    const shown = { customer, reason, actor: '…', blocked_at: new Date().toISOString() };
    put_first(shown);
    try {
      const now = await api.block(customer, reason);
      put_first(now); // the list may have been loaded meanwhile
      notices.done(look.say('blocked.done', { customer }));
    } catch (fault) {
      list.rows.value = list.rows.value.filter((one) => one !== shown);
      if (before) put_first(before);
      if (typed(form, 'customer') === '' && typed(form, 'reason') === '') {
        type_into(form, 'customer', customer);
        type_into(form, 'reason', reason);
      }
      notices.refused(fault_text(look, fault));
    }
  };
  const unblock = async (customer: string) => {
    const before = list.rows.value.find((one) => one.customer === customer);
    list.rows.value = list.rows.value.filter((one) => one !== before);
    try {
      await api.unblock(customer);
      notices.done(look.say('blocked.undone', { customer }));
    } catch (fault) {
      if (before) put_first(before);
      notices.refused(`${customer}: ${fault_text(look, fault)}`);
    }
  };
  return (
    <>
      <h1>{look.say('blocked.title')}</h1>
      {may_change && <BlockForm block={(form) => void block(form)} />}
      <ListShown list={list} empty={look.say('blocked.empty')}>
        {(rows) => (
          <Table caption={look.say('blocked.title')} rows={once_each(rows)}
            id={(b) => b.customer} columns={[
            { title: look.say('customer'), cell: (b) => b.customer },
            { title: look.say('reason'), cell: (b) => b.reason },
            { title: look.say('actor'), cell: (b) => b.actor },
            { title: look.say('time'), is_time: true, cell: (b) => look.time(b.blocked_at) },
            {
              title: look.say('action'),
              cell: (b) => may_change && (
                <button type="button" onClick={() => { asking.value = b.customer; }}
                  aria-label={look.say('blocked.unblock_of', { customer: b.customer })}>
                  {look.say('blocked.unblock')}
                </button>
              ),
            },
          ]} />
        )}
      </ListShown>
      {asking.value !== null && (
        <Ask title={look.say('blocked.unblock_of', { customer: asking.value })}
          action={look.say('blocked.unblock')} close={() => { asking.value = null; }}
          done={() => void unblock(asking.value ?? '')} />
      )}
    </>
  );
}
