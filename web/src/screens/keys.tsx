// SPDX-License-Identifier: Apache-2.0
// What programs show instead of a password.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { key_roles, type ApiKey, type KeyRole } from '../api';
import { fault_text, use_shell } from '../shell';
import { Ask } from '../widgets/ask';
import { Badge } from '../widgets/badge';
import { Dialog } from '../widgets/dialog';
import { Field, typed } from '../widgets/field';
import { Form } from '../widgets/form';
import { use_list } from '../widgets/loading';
import { ListShown } from '../widgets/outcome';
import { RoleChoice } from '../widgets/role_choice';
import { Secret, use_telling } from '../widgets/secret';
import { Table } from '../widgets/table';

const page_rows = 100;
const name_length_max = 100;

function NewKey({ close, made }: { close: () => void; made: (key: ApiKey) => void }) {
  const { api, look } = use_shell();
  const send = async (form: HTMLFormElement) =>
    made(await api.create_key(typed(form, 'name'), typed(form, 'role') as KeyRole));
  return (
    <Dialog title={look.say('keys.new')} close={close}>
      <Form action={look.say('keys.create')} send={send} close={close}>
        <Field label={look.say('name')} name="name" required maxLength={name_length_max}
          pattern=".*\S.*" autocomplete="off" hint={look.say('keys.name_hint')} />
        <RoleChoice roles={key_roles} present="shop" />
      </Form>
    </Dialog>
  );
}

function Keys({ keys, revoke }: { keys: readonly ApiKey[]; revoke: (key: ApiKey) => void }) {
  const { look } = use_shell();
  return (
    <Table caption={look.say('keys.title')} rows={keys} id={(k) => k.id} columns={[
      { title: look.say('name'), cell: (k) => k.name },
      { title: look.say('role'), cell: (k) => look.say(`role.${k.role}`) },
      {
        title: look.say('state'),
        cell: (k) => k.revoked_at ? <Badge tone="plain" says="keys.revoked" />
          : <Badge tone="good" says="keys.active" />,
      },
      { title: look.say('made'), is_time: true, cell: (k) => look.time(k.created_at) },
      {
        title: look.say('action'),
        cell: (k) => k.revoked_at ? look.time(k.revoked_at) : (
          <button type="button" class="grave" onClick={() => revoke(k)}
            aria-label={look.say('keys.revoke_of', { name: k.name })}>
            {look.say('keys.revoke')}
          </button>
        ),
      },
    ]} />
  );
}

export function KeysScreen() {
  const { api, look, notices, session } = use_shell();
  const list = use_list<ApiKey>((cursor, stop) => api.keys({ cursor, limit: page_rows }, stop), []);
  const is_making = useMemo(() => signal(false), []);
  const fresh = useMemo(() => signal<ApiKey | null>(null), []);
  const asking = useMemo(() => signal<ApiKey | null>(null), []);
  const title_of = ({ name }: ApiKey) => look.say('keys.key_of', { name });
  const tell = use_telling(fresh, title_of);

  // It may be made although nobody was told so.
  const close = () => {
    is_making.value = false;
    list.reload();
  };
  const made = (key: ApiKey) => {
    is_making.value = false;
    tell(key);
    list.reload();
  };
  // Shown at once, and taken back when it is refused.
  const revoke = async ({ id, name }: ApiKey) => {
    const revoked_at = new Date().toISOString();
    const undo = list.change((one) => one.id === id, (one) => ({ ...one, revoked_at }));
    try {
      await api.revoke_key(id);
      notices.done(look.say('keys.revoked_one', { name }));
    } catch (fault) {
      undo();
      notices.refused(fault_text(look, fault));
    }
  };
  const about = asking.value;
  return (
    <>
      <header class="bar">
        <h1>{look.say('keys.title')}</h1>
        {session.may('keys') && (
          <button type="button" class="main" onClick={() => { is_making.value = true; }}>
            {look.say('keys.new')}
          </button>
        )}
      </header>
      <p>{look.say('keys.about')}</p>
      <ListShown list={list} empty={look.say('keys.empty')}>
        {(rows) => <Keys keys={rows} revoke={(key) => { asking.value = key; }} />}
      </ListShown>
      {is_making.value && <NewKey close={close} made={made} />}
      {fresh.value?.key && (
        <Secret title={title_of(fresh.value)}
          about={look.say('secret.once')} secret={fresh.value.key}
          close={() => { fresh.value = null; }} />
      )}
      {about && (
        <Ask title={look.say('keys.revoke_of', { name: about.name })}
          action={look.say('keys.revoke')} is_grave close={() => { asking.value = null; }}
          done={() => void revoke(about)}>
          <p>{look.say('keys.revoke_about')}</p>
        </Ask>
      )}
    </>
  );
}
