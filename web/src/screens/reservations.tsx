// SPDX-License-Identifier: Apache-2.0
// What is promised and to whom; found by what a customer on the telephone knows.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { states, type Reservation } from '../api';
import { Unsettled } from '../asking';
import { address_of } from '../route';
import { fault_text, refusal_text, use_shell } from '../shell';
import { Ask } from '../widgets/ask';
import { Badge, type Tone } from '../widgets/badge';
import { Choice, Field, typed } from '../widgets/field';
import { Filters } from '../widgets/filters';
import { use_list, use_loaded, type Loaded } from '../widgets/loading';
import { ListShown, Shown } from '../widgets/outcome';
import { Table } from '../widgets/table';

const page_rows = 50;
const default_extension_minutes = 15;
const extension_minutes_max = 10_080;

const tones: Record<Reservation['state'], Tone> = {
  held: 'warn', confirmed: 'good', released: 'plain', expired: 'plain', pending: 'warn',
  refused: 'bad',
};

function StateBadge({ of }: { of: Reservation }) {
  return <Badge tone={tones[of.state]} says={`state.${of.state}`} />;
}

export function ReservationsScreen() {
  const { api, look, router } = use_shell();
  const { state = '', sku = '', customer = '', reference = '' } = router.place.value.query;
  const list = use_list<Reservation>(
    (cursor, stop) => api.reservations(
      { state, sku, customer, reference, cursor, limit: page_rows }, stop),
    [state, sku, customer, reference]);
  const units = (r: Reservation) => (r.lines ?? []).map((line, at) => (
    <>{at > 0 && ', '}{look.number(line.quantity)} × <bdi>{line.sku}</bdi></>
  ));
  return (
    <>
      <h1>{look.say('reservations.title')}</h1>
      <Filters>
        <Choice label={look.say('state')} name="state">
          <option value="">{look.say('all')}</option>
          {states.map((one) => (
            <option key={one} value={one} selected={one === state}>
              {look.say(`state.${one}`)}
            </option>
          ))}
        </Choice>
        <Field label={look.say('sku')} name="sku" defaultValue={sku} />
        <Field label={look.say('customer')} name="customer" defaultValue={customer} />
        <Field label={look.say('reference')} name="reference" defaultValue={reference} />
      </Filters>
      <ListShown list={list} empty={look.say('reservations.empty')}>
        {(rows) => (
          <Table caption={look.say('reservations.title')} rows={rows} id={(r) => r.id} columns={[
            {
              title: look.say('reservation'),
              cell: (r) => <a href={address_of(['reservations', r.id])}>{r.reference ?? r.id}</a>,
            },
            { title: look.say('state'), cell: (r) => <StateBadge of={r} /> },
            { title: look.say('reservations.units'), cell: units },
            { title: look.say('customer'), cell: (r) => r.customer ?? '–' },
            { title: look.say('made'), is_time: true, cell: (r) => look.time(r.created_at) },
            {
              title: look.say('reservations.until'),
              cell: (r) => (r.state === 'held' ? look.time(r.expires_at) : '–'),
            },
          ]} />
        )}
      </ListShown>
    </>
  );
}

// Release and extend are shown as done at once, and taken back when they are refused.
function Actions({ loaded, reservation }: {
  loaded: Loaded<Reservation>;
  reservation: Reservation;
}) {
  const { api, look, notices, session } = use_shell();
  const asking = useMemo(() => signal<'release' | 'extend' | null>(null), []);
  const refused = useMemo(() => signal<string | null>(null), []);
  // What was sent and has no answer, reason and all, to be sent again.
  const again = useMemo(() => signal<(() => void) | null>(null), []);
  const what = reservation.reference ?? reservation.id; // one may have left by then
  const is_open = reservation.state === 'held' || reservation.state === 'pending';

  const attempt = async (
    shown: Partial<Reservation>, send: () => Promise<Reservation>, done: string,
  ) => {
    refused.value = null;
    again.value = null;
    loaded.value.value = { ...reservation, ...shown };
    try {
      loaded.value.value = await send();
      notices.done(done);
    } catch (fault) {
      loaded.value.value = reservation;
      refused.value = fault_text(look, fault);
      if (fault instanceof Unsettled) again.value = () => void attempt(shown, send, done);
      notices.refused(look.say('reservations.refused', { what, why: refused.value }));
      loaded.reload();
    }
  };
  const release = (_: HTMLFormElement, reason: string) =>
    void attempt({ state: 'released', released_at: new Date().toISOString() },
      () => api.release(reservation.id, reason), look.say('reservations.released', { what }));
  const extend = (form: HTMLFormElement, reason: string) => {
    const seconds = Number(typed(form, 'minutes')) * 60;
    void attempt({ expires_at: new Date(Date.now() + seconds * 1000).toISOString() },
      () => api.extend(reservation.id, seconds, reason),
      look.say('reservations.extended', { what }));
  };
  const close = () => { asking.value = null; };
  return (
    <>
      {refused.value && (
        <div class="failed">
          <p>{refused.value}</p>
          {again.value && (
            <button type="button" onClick={again.value}>{look.say('edit.again')}</button>
          )}
        </div>
      )}
      {is_open && session.may('reserve') && (
        <div class="actions">
          <button type="button" onClick={() => { asking.value = 'extend'; }}>
            {look.say('reservations.extend')}
          </button>
          <button type="button" class="grave" onClick={() => { asking.value = 'release'; }}>
            {look.say('reservations.release')}
          </button>
        </div>
      )}
      {asking.value === 'release' && (
        <Ask title={look.say('reservations.release_ask')} action={look.say('reservations.release')}
          reason is_grave close={close} done={release} />
      )}
      {asking.value === 'extend' && (
        <Ask title={look.say('reservations.extend')} action={look.say('reservations.extend')}
          reason close={close} done={extend}>
          <Field label={look.say('reservations.minutes')} name="minutes" type="number" min={1}
            max={extension_minutes_max} required defaultValue={String(default_extension_minutes)}
            hint={look.say('reservations.minutes_hint')} />
        </Ask>
      )}
    </>
  );
}

function Facts({ of }: { of: Reservation }) {
  const { look } = use_shell();
  const link = (id: string | null | undefined) =>
    id ? <a href={address_of(['reservations', id])}>{id}</a> : null;
  const facts = [
    [look.say('customer'), of.customer],
    [look.say('reference'), of.reference],
    [look.say('made'), of.created_at && look.time(of.created_at)],
    [look.say('reservations.until'), of.expires_at && look.time(of.expires_at)],
    [look.say('state.confirmed'), of.confirmed_at && look.time(of.confirmed_at)],
    [look.say('state.released'), of.released_at && look.time(of.released_at)],
    [look.say('state.expired'), of.expired_at && look.time(of.expired_at)],
    [look.say('reservations.supersedes'), link(of.supersedes)],
    [look.say('reservations.superseded_by'), link(of.superseded_by)],
    [look.say('detail'), of.code ? refusal_text(look, of.code, of.detail ?? '') : of.note],
  ] as const;
  return (
    <dl class="pairs">
      {facts.filter(([, what]) => what).map(([name, what]) => (
        <div key={name}><dt>{name}</dt><dd>{what}</dd></div>
      ))}
    </dl>
  );
}

export function ReservationScreen({ id }: { id: string }) {
  const { api, look } = use_shell();
  const loaded = use_loaded((stop) => api.reservation(id, stop), [id]);
  return (
    <>
      <p><a href={address_of(['reservations'])}>← {look.say('reservations.title')}</a></p>
      <Shown loaded={loaded}>
        {(reservation) => (
          <>
            <h1>{reservation.reference ?? look.say('reservation')}</h1>
            <p><code>{reservation.id}</code> <StateBadge of={reservation} /></p>
            <Actions loaded={loaded} reservation={reservation} />
            <Facts of={reservation} />
            <Table caption={look.say('reservations.units')} rows={reservation.lines ?? []}
              id={(line) => `${line.sku} ${line.location}`} columns={[
                {
                  title: look.say('sku'),
                  cell: (line) => <a href={address_of(['stock', line.sku])}>{line.sku}</a>,
                },
                { title: look.say('location'), cell: (line) => line.location },
                {
                  title: look.say('quantity'), is_number: true,
                  cell: (line) => look.number(line.quantity),
                },
                {
                  title: look.say('state.confirmed'), is_number: true,
                  cell: (line) => look.number(line.confirmed),
                },
                {
                  title: look.say('kind.returned'), is_number: true,
                  cell: (line) => look.number(line.returned),
                },
              ]} />
            {reservation.metadata && Object.keys(reservation.metadata).length > 0 && (
              <pre>{JSON.stringify(reservation.metadata, null, 2)}</pre>
            )}
          </>
        )}
      </Shown>
    </>
  );
}
