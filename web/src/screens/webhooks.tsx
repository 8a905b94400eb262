// SPDX-License-Identifier: Apache-2.0
// Who is told of what happens, and what became of telling them.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { delivery_states, event_types, type Delivery, type EventType, type Webhook } from '../api';
import { local_time } from '../item_settings';
import { address_of } from '../route';
import { fault_text, use_presence, use_shell } from '../shell';
import { Ask } from '../widgets/ask';
import { Badge, type Tone } from '../widgets/badge';
import { Dialog } from '../widgets/dialog';
import { Check, Choice, Field, typed } from '../widgets/field';
import { Filters } from '../widgets/filters';
import { Form } from '../widgets/form';
import { use_list, use_loaded, type Loaded } from '../widgets/loading';
import { ListShown, Nothing, Shown } from '../widgets/outcome';
import { Secret, use_telling } from '../widgets/secret';
import { Table } from '../widgets/table';

const page_rows = 50;

const tones: Record<Webhook['state'] | Delivery['state'], Tone> = {
  active: 'good', paused: 'warn', disabled: 'bad', pending: 'warn', delivered: 'good', dead: 'bad',
};

function NewWebhook({ close, made }: { close: () => void; made: (webhook: Webhook) => void }) {
  const { api, look } = use_shell();
  const send = async (form: HTMLFormElement) => {
    const types = new FormData(form).getAll('types') as EventType[];
    made(await api.create_webhook({
      url: typed(form, 'url'),
      types: types.length === 0 ? null : types,
      sku_prefix: typed(form, 'sku_prefix') || null,
      description: typed(form, 'description') || null,
    }));
  };
  return (
    <Dialog title={look.say('webhooks.new')} close={close}>
      <Form action={look.say('webhooks.create')} send={send} close={close}>
        <Field label={look.say('webhooks.url')} name="url" type="url" required maxLength={2000} />
        <Field label={look.say('webhooks.description')} name="description" maxLength={500} />
        <Field label={look.say('webhooks.prefix')} name="sku_prefix" maxLength={100}
          hint={look.say('webhooks.prefix_hint')} />
        <fieldset>
          <legend>{look.say('webhooks.types')}</legend>
          {event_types.map((type) => <Check key={type} label={type} name="types" value={type} />)}
        </fieldset>
      </Form>
    </Dialog>
  );
}

export function WebhooksScreen() {
  const { api, look, session } = use_shell();
  const loaded = use_loaded((stop) => api.webhooks(stop), []);
  const is_making = useMemo(() => signal(false), []);
  const secret = useMemo(() => signal<string | null>(null), []);
  const tell = use_telling(secret, () => look.say('webhooks.secret'));
  // It may be made although nobody was told so.
  const close = () => {
    is_making.value = false;
    loaded.reload();
  };
  const made = (webhook: Webhook) => {
    is_making.value = false;
    if (webhook.secret) tell(webhook.secret);
    loaded.reload();
  };
  return (
    <>
      <header class="bar">
        <h1>{look.say('webhooks.title')}</h1>
        {session.may('settings') && (
          <button type="button" class="main" onClick={() => { is_making.value = true; }}>
            {look.say('webhooks.new')}
          </button>
        )}
      </header>
      <Shown loaded={loaded}>
        {({ data }) => data.length === 0 ? <Nothing>{look.say('webhooks.empty')}</Nothing> : (
          <Table caption={look.say('webhooks.title')} rows={data} id={(w) => w.id} columns={[
            {
              title: look.say('webhooks.url'),
              cell: (w) => <a href={address_of(['webhooks', w.id])}>{w.description ?? w.url}</a>,
            },
            {
              title: look.say('state'),
              cell: (w) => <Badge tone={tones[w.state]} says={`webhook.${w.state}`} />,
            },
            {
              title: look.say('webhooks.types'),
              cell: (w) => w.types?.join(', ') ?? look.say('all'),
            },
            { title: look.say('webhooks.prefix'), cell: (w) => w.sku_prefix ?? look.say('all') },
          ]} />
        )}
      </Shown>
      {is_making.value && (
        <NewWebhook close={close} made={made} />
      )}
      {secret.value && (
        <Secret title={look.say('webhooks.secret')} about={look.say('secret.once')}
          secret={secret.value} close={() => { secret.value = null; }} />
      )}
    </>
  );
}

function Controls({ loaded, webhook, delivered }: {
  loaded: Loaded<Webhook>;
  webhook: Webhook;
  delivered: () => void;
}) {
  const { api, look, notices, router } = use_shell();
  const is_here = use_presence();
  const asking = useMemo(() => signal<'rotate' | 'replay' | 'delete' | null>(null), []);
  const secret = useMemo(() => signal<string | null>(null), []);
  const tell = use_telling(secret, () => look.say('webhooks.secret'));
  const close = () => { asking.value = null; };
  const about = (says: string) => // one may have left by then
    look.say('webhooks.about', { what: webhook.description ?? webhook.url, says });
  const attempt = async (act: () => Promise<void>, done: string) => {
    try {
      await act();
      notices.done(about(done));
    } catch (fault) {
      notices.refused(about(fault_text(look, fault)));
    }
  };
  // Shown at once, and taken back when it is refused.
  const change_state = (state: 'active' | 'paused') => attempt(async () => {
    loaded.value.value = { ...webhook, state };
    try {
      loaded.value.value = await api.change_webhook(webhook.id, { state });
    } catch (fault) {
      loaded.value.value = webhook;
      throw fault;
    }
  }, look.say(`webhook.${state}`));
  const test = () => attempt(async () => {
    await api.test_webhook(webhook.id);
    delivered();
  }, look.say('webhooks.tested'));
  const rotate = () => void attempt(async () => {
    const { secret: fresh } = await api.rotate_webhook(webhook.id);
    if (fresh) tell(fresh);
  }, look.say('webhooks.rotated'));
  const replay = (form: HTMLFormElement) => {
    const since = new Date(typed(form, 'since')).toISOString();
    void attempt(async () => {
      await api.replay_webhook(webhook.id, since);
      delivered();
    }, look.say('webhooks.replayed'));
  };
  const remove = () => void attempt(async () => {
    await api.delete_webhook(webhook.id);
    if (is_here()) router.go(address_of(['webhooks']));
  }, look.say('webhooks.deleted'));
  const is_active = webhook.state === 'active';
  return (
    <div class="actions">
      <button type="button" onClick={() => void change_state(is_active ? 'paused' : 'active')}>
        {look.say(is_active ? 'webhooks.pause' : 'webhooks.activate')}
      </button>
      <button type="button" onClick={() => void test()}>{look.say('webhooks.test')}</button>
      <button type="button" onClick={() => { asking.value = 'replay'; }}>
        {look.say('webhooks.replay')}
      </button>
      <button type="button" onClick={() => { asking.value = 'rotate'; }}>
        {look.say('webhooks.rotate')}
      </button>
      <button type="button" class="grave" onClick={() => { asking.value = 'delete'; }}>
        {look.say('webhooks.delete')}
      </button>
      {asking.value === 'rotate' && (
        <Ask title={look.say('webhooks.rotate_ask')} action={look.say('webhooks.rotate')}
          close={close} done={rotate} />
      )}
      {asking.value === 'delete' && (
        <Ask title={look.say('webhooks.delete_ask')} action={look.say('webhooks.delete')} is_grave
          close={close} done={remove} />
      )}
      {asking.value === 'replay' && (
        <Ask title={look.say('webhooks.replay')} action={look.say('webhooks.replay')} close={close}
          done={replay}>
          <Field label={look.say('webhooks.since')} name="since" type="datetime-local" step={1}
            required defaultValue={local_time(new Date(Date.now() - 3_600_000).toISOString())} />
        </Ask>
      )}
      {secret.value && (
        <Secret title={look.say('webhooks.secret')} about={look.say('secret.once')}
          secret={secret.value} close={() => { secret.value = null; }} />
      )}
    </div>
  );
}

function Deliveries({ id, at }: { id: string; at: number }) {
  const { api, look, notices, router } = use_shell();
  const { state = '' } = router.place.value.query;
  const list = use_list<Delivery>(
    (cursor, stop) => api.deliveries(id, { state, cursor, limit: page_rows }, stop),
    [id, state, at]);
  const resend = async (delivery: Delivery) => {
    const undo = list.change((d) => d.id === delivery.id, (d) => ({ ...d, state: 'pending' }));
    try {
      const now = await api.resend(id, delivery.id);
      list.change((d) => d.id === delivery.id, () => now);
      notices.done(look.say('deliveries.resent'));
    } catch (fault) {
      undo();
      notices.refused(fault_text(look, fault));
    }
  };
  return (
    <section aria-labelledby="deliveries">
      <h2 id="deliveries">{look.say('deliveries.title')}</h2>
      <Filters>
        <Choice label={look.say('state')} name="state">
          <option value="">{look.say('all')}</option>
          {delivery_states.map((one) => (
            <option key={one} value={one} selected={one === state}>
              {look.say(`delivery.${one}`)}
            </option>
          ))}
        </Choice>
        <button type="button" onClick={list.reload}>{look.say('reload')}</button>
      </Filters>
      <ListShown list={list} empty={look.say('deliveries.empty')}>
        {(rows) => (
          <Table caption={look.say('deliveries.title')} rows={rows} id={(d) => d.id} columns={[
            { title: look.say('time'), is_time: true, cell: (d) => look.time(d.created_at) },
            { title: look.say('deliveries.event'), cell: (d) => d.event_type },
            {
              title: look.say('sku'),
              cell: (d) => d.sku && <a href={address_of(['stock', d.sku])}>{d.sku}</a>,
            },
            {
              title: look.say('state'),
              cell: (d) => <Badge tone={tones[d.state]} says={`delivery.${d.state}`} />,
            },
            {
              title: look.say('deliveries.attempts'), is_number: true,
              cell: (d) => look.number(d.attempts),
            },
            {
              title: look.say('deliveries.answer'),
              cell: (d) => [d.last_status, d.last_fault].filter((x) => x !== null).join(' '),
            },
            {
              title: look.say('deliveries.next'),
              cell: (d) => d.state === 'pending' ? look.time(d.next_attempt_at) : (
                <button type="button" onClick={() => void resend(d)}
                  aria-label={look.say('deliveries.resend_of', { id: d.id })}>
                  {look.say('deliveries.resend')}
                </button>
              ),
            },
          ]} />
        )}
      </ListShown>
    </section>
  );
}

export function WebhookScreen({ id }: { id: string }) {
  const { api, look } = use_shell();
  const loaded = use_loaded((stop) => api.webhook(id, stop), [id]);
  const deliveries = useMemo(() => signal(0), [id]);
  return (
    <>
      <p><a href={address_of(['webhooks'])}>← {look.say('webhooks.title')}</a></p>
      <Shown loaded={loaded}>
        {(webhook) => (
          <>
            <h1>{webhook.description ?? look.say('webhooks.one')}</h1>
            <p><code>{webhook.url}</code>{' '}
              <Badge tone={tones[webhook.state]} says={`webhook.${webhook.state}`} />{' '}
              {webhook.disabled_reason}</p>
            <Controls loaded={loaded} webhook={webhook}
              delivered={() => { deliveries.value += 1; }} />
          </>
        )}
      </Shown>
      <Deliveries id={id} at={deliveries.value} />
    </>
  );
}
