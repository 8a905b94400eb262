// SPDX-License-Identifier: Apache-2.0
// What staff did that the ledger does not say.
import type { TrailEntry } from '../api';
import { address_of } from '../route';
import { use_shell } from '../shell';
import { Field } from '../widgets/field';
import { Filters } from '../widgets/filters';
import { use_list } from '../widgets/loading';
import { ListShown } from '../widgets/outcome';
import { Table } from '../widgets/table';

const page_rows = 50;
const places: Record<string, string> = {
  item: 'stock', webhook: 'webhooks', reservation: 'reservations', count: 'counts',
};

function Subject({ of }: { of: string }) {
  const colon = of.indexOf(':');
  const place = places[of.slice(0, colon)];
  if (!place) return <>{of}</>;
  return <a href={address_of([place, of.slice(colon + 1)])}>{of}</a>;
}

export function TrailScreen() {
  const { api, look, router } = use_shell();
  const { actor = '', subject = '' } = router.place.value.query;
  const list = use_list<TrailEntry>(
    (cursor, stop) => api.trail({ actor, subject, cursor, limit: page_rows }, stop),
    [actor, subject]);
  return (
    <>
      <h1>{look.say('trail.title')}</h1>
      <Filters>
        <Field label={look.say('actor')} name="actor" defaultValue={actor} />
        <Field label={look.say('trail.subject')} name="subject" defaultValue={subject}
          hint={look.say('trail.subject_hint')} />
      </Filters>
      <ListShown list={list} empty={look.say('trail.empty')}>
        {(rows) => (
          <Table caption={look.say('trail.title')} rows={rows} id={(e) => e.id} columns={[
            { title: look.say('time'), is_time: true, cell: (e) => look.time(e.at) },
            { title: look.say('actor'), cell: (e) => e.actor },
            { title: look.say('action'), cell: (e) => e.action },
            { title: look.say('trail.subject'), cell: (e) => <Subject of={e.subject} /> },
            { title: look.say('detail'), cell: (e) => <code>{JSON.stringify(e.detail)}</code> },
          ]} />
        )}
      </ListShown>
    </>
  );
}
