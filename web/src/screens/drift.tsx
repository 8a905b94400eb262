// SPDX-License-Identifier: Apache-2.0
// Numbers that nothing explains: those found so far, and a comparison now.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Difference, Drift } from '../api';
import { address_of } from '../route';
import { fault_text, use_shell } from '../shell';
import { Ask } from '../widgets/ask';
import { Field } from '../widgets/field';
import { Filters } from '../widgets/filters';
import { use_list } from '../widgets/loading';
import { ListShown, Nothing, Waiting } from '../widgets/outcome';
import { Table, type Column } from '../widgets/table';
import type { Look } from '../look';

const page_rows = 50;

function columns_of(look: Look): readonly Column<Difference>[] {
  return [
    {
      title: look.say('sku'),
      cell: (d) => <a href={address_of(['stock', d.sku])}>{d.sku}</a>,
    },
    { title: look.say('location'), cell: (d) => d.location ?? '–' },
    { title: look.say('drift.kind'), cell: (d) => d.kind },
    { title: look.say('drift.expected'), is_number: true, cell: (d) => look.number(d.expected) },
    { title: look.say('drift.found'), is_number: true, cell: (d) => look.number(d.found) },
    { title: look.say('drift.cause'), cell: (d) => d.cause },
  ];
}

function Comparison({ repaired }: { repaired: () => void }) {
  const { api, look, notices } = use_shell();
  const found = useMemo(() => signal<readonly Difference[] | null>(null), []);
  const is_busy = useMemo(() => signal(false), []);
  const is_asking = useMemo(() => signal(false), []);
  const compare = async (repair: boolean) => {
    is_busy.value = true;
    try {
      const answer = await api.reconcile(repair);
      found.value = answer.differences;
      if (!repair) return;
      notices.done(look.say('drift.repaired_n', { n: answer.repaired }));
      repaired();
    } catch (fault) {
      notices.refused(fault_text(look, fault));
    } finally {
      is_busy.value = false;
    }
  };
  const differences = found.value;
  return (
    <section aria-labelledby="now">
      <h2 id="now">{look.say('drift.now')}</h2>
      <div class="actions">
        <button type="button" disabled={is_busy.value} onClick={() => void compare(false)}>
          {look.say('drift.compare')}
        </button>
        {differences !== null && differences.length > 0 && (
          <button type="button" class="grave" disabled={is_busy.value}
            onClick={() => { is_asking.value = true; }}>
            {look.say('drift.repair')}
          </button>
        )}
      </div>
      {is_busy.value && <Waiting />}
      {differences?.length === 0 && <Nothing>{look.say('drift.none_now')}</Nothing>}
      {differences !== null && differences.length > 0 && (
        <Table caption={look.say('drift.now')} rows={differences}
          id={(d) => `${d.sku} ${d.location} ${d.kind}`} columns={columns_of(look)} />
      )}
      {is_asking.value && (
        <Ask title={look.say('drift.repair_ask')} action={look.say('drift.repair')} is_grave
          close={() => { is_asking.value = false; }} done={() => void compare(true)} />
      )}
    </section>
  );
}

export function DriftScreen() {
  const { api, look, router, session } = use_shell();
  const { sku = '' } = router.place.value.query;
  const list = use_list<Drift>(
    (cursor, stop) => api.drift({ sku, cursor, limit: page_rows }, stop), [sku]);
  const columns: Column<Drift>[] = [
    { title: look.say('time'), is_time: true, cell: (d) => look.time(d.at) },
    ...columns_of(look),
    { title: look.say('drift.repaired'), cell: (d) => look.say(d.repaired ? 'yes' : 'no') },
  ];
  return (
    <>
      <h1>{look.say('drift.title')}</h1>
      {session.may('settings') && <Comparison repaired={list.reload} />}
      <section aria-labelledby="history">
        <h2 id="history">{look.say('drift.history')}</h2>
        <Filters>
          <Field label={look.say('sku')} name="sku" defaultValue={sku} />
        </Filters>
        <ListShown list={list} empty={look.say('drift.empty')}>
          {(rows) => (
            <Table caption={look.say('drift.history')} rows={rows} id={(d) => d.id}
              columns={columns} />
          )}
        </ListShown>
      </section>
    </>
  );
}
