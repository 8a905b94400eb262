// SPDX-License-Identifier: Apache-2.0
// Who may sign in, and what each may do. First passwords are made here, so that nobody thinks up a
// weak one for somebody else; for a forgotten one there is a link, by which its owner chooses.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { staff_roles, type StaffAccount, type StaffChange, type StaffRole } from '../api';
import { is_fault_of, is_refused_with } from '../asking';
import { new_password } from '../new_password';
import { address_of, password_link } from '../route';
import { fault_text, use_shell } from '../shell';
import { Ask } from '../widgets/ask';
import { Badge } from '../widgets/badge';
import { Dialog } from '../widgets/dialog';
import { Field, typed } from '../widgets/field';
import { Form } from '../widgets/form';
import { use_list, type Listed } from '../widgets/loading';
import { ListShown } from '../widgets/outcome';
import { RoleChoice } from '../widgets/role_choice';
import { Secret, use_telling } from '../widgets/secret';
import { Table } from '../widgets/table';

const page_rows = 100;
const name_length_max = 100;

type Act = 'role' | 'lock' | 'unlock' | 'password' | 'remove';

// What is shown once, to be handed over.
interface Handed {
  readonly name: string;
  readonly what: 'password' | 'link';
  readonly secret: string;
}

function NewAccount({ close, made }: { close: () => void; made: (of: Handed) => void }) {
  const { api, look } = use_shell();
  const send = async (form: HTMLFormElement) => {
    const password = new_password();
    const name = typed(form, 'name').normalize('NFC');
    const account = await api.create_staff(name, typed(form, 'role') as StaffRole, password);
    made({ name: account.name, what: 'password', secret: password });
  };
  const says = (fault: unknown) =>
    is_fault_of(fault, '/name') ? look.say('staff.name_refused') : null;
  return (
    <Dialog title={look.say('staff.new')} close={close}>
      <Form action={look.say('staff.create')} send={send} says={says} close={close}>
        <Field label={look.say('name')} name="name" required maxLength={name_length_max}
          pattern=".*\S.*" autocomplete="off" hint={look.say('staff.name_hint')} />
        <RoleChoice roles={staff_roles} present="clerk" />
        <p>{look.say('staff.new_about')}</p>
      </Form>
    </Dialog>
  );
}

function Acts({ account, ask }: { account: StaffAccount; ask: (act: Act) => void }) {
  const { look, session } = use_shell();
  const is_oneself = account.id === session.caller.value?.staff_id;
  const acts: readonly Act[] = [
    'role', account.disabled_at ? 'unlock' : 'lock',
    ...(is_oneself || account.disabled_at ? [] : ['password' as const]), 'remove',
  ];
  return (
    <div class="buttons">
      {acts.map((act) => (
        <button key={act} type="button" class={act === 'remove' ? 'grave' : ''}
          onClick={() => ask(act)}
          aria-label={look.say(`staff.${act}_of`, { name: account.name })}>
          {look.say(`staff.${act}`)}
        </button>
      ))}
      {is_oneself && <a href={address_of(['account'])}>{look.say('account.password')}</a>}
    </div>
  );
}

function Accounts({ accounts, ask }: {
  accounts: readonly StaffAccount[];
  ask: (act: Act, whom: StaffAccount) => void;
}) {
  const { look, session } = use_shell();
  return (
    <Table caption={look.say('staff.title')} rows={accounts} id={(a) => a.id} columns={[
      {
        title: look.say('name'),
        cell: (a) => (
          <>
            {a.name}{' '}
            {a.id === session.caller.value?.staff_id && <Badge tone="plain" says="staff.you" />}
          </>
        ),
      },
      { title: look.say('role'), cell: (a) => look.say(`role.${a.role}`) },
      {
        title: look.say('state'),
        cell: (a) => a.disabled_at ? <Badge tone="bad" says="staff.locked" />
          : <Badge tone="good" says="staff.active" />,
      },
      { title: look.say('made'), is_time: true, cell: (a) => look.time(a.created_at) },
      {
        title: look.say('action'),
        cell: (a) => <Acts account={a} ask={(act) => ask(act, a)} />,
      },
    ]} />
  );
}

// What is done to an account; each says how it went.
function use_acts(list: Listed<StaffAccount>, told: (of: Handed) => void) {
  const { api, look, notices, session } = use_shell();
  async function attempt(whom: StaffAccount, act: () => Promise<void>) {
    try {
      await act();
      if (whom.id === session.caller.value?.staff_id) await api.find_caller();
    } catch (fault) {
      const is_stale = is_refused_with(fault, 'precondition-failed');
      notices.refused(is_stale ? look.say('staff.changed_meanwhile', { name: whom.name })
        : fault_text(look, fault));
      if (is_stale) list.reload();
    }
  }
  const change = (whom: StaffAccount, to: Omit<StaffChange, 'expect_revision'>) =>
    attempt(whom, async () => {
      const now = await api.change_staff(whom.id, { ...to, expect_revision: whom.revision });
      list.change((one) => one.id === now.id, () => now);
      notices.done(look.say('staff.changed', { name: now.name }));
    });
  return {
    change,
    reset: (whom: StaffAccount) => attempt(whom, async () => {
      const { token } = await api.make_link(whom.id);
      told({ name: whom.name, what: 'link', secret: password_link(window.location, token) });
    }),
    remove: (whom: StaffAccount) => attempt(whom, async () => {
      await api.remove_staff(whom.id);
      list.rows.value = list.rows.value.filter((one) => one.id !== whom.id);
      notices.done(look.say('staff.removed', { name: whom.name }));
    }),
  };
}

function AskFor({ act, whom, acts, close }: {
  act: Act;
  whom: StaffAccount;
  acts: ReturnType<typeof use_acts>;
  close: () => void;
}) {
  const { look } = use_shell();
  const done: Record<Act, (form: HTMLFormElement) => Promise<void>> = {
    role: (form) => acts.change(whom, { role: typed(form, 'role') as StaffRole }),
    lock: () => acts.change(whom, { disabled: true }),
    unlock: () => acts.change(whom, { disabled: false }),
    password: () => acts.reset(whom),
    remove: () => acts.remove(whom),
  };
  return (
    <Ask title={look.say(`staff.${act}_of`, { name: whom.name })}
      action={look.say(act === 'role' ? 'save' : `staff.${act}`)} is_grave={act === 'remove'}
      close={close} done={(form) => void done[act](form)}>
      {act === 'role' ? <RoleChoice roles={staff_roles} present={whom.role} />
        : <p>{look.say(`staff.${act}_about`)}</p>}
    </Ask>
  );
}

export function StaffScreen() {
  const { api, look, session } = use_shell();
  const list = use_list<StaffAccount>(
    (cursor, stop) => api.staff({ cursor, limit: page_rows }, stop), []);
  const is_making = useMemo(() => signal(false), []);
  const fresh = useMemo(() => signal<Handed | null>(null), []);
  const asking = useMemo(() => signal<{ act: Act; whom: StaffAccount } | null>(null), []);
  const title_of = ({ name, what }: Handed) => look.say(`staff.${what}_for`, { name });
  const tell = use_telling(fresh, title_of);
  const acts = use_acts(list, tell);
  // It may be made although nobody was told so.
  const close = () => {
    is_making.value = false;
    list.reload();
  };
  const made = (handed: Handed) => {
    is_making.value = false;
    tell(handed);
    list.reload();
  };
  return (
    <>
      <header class="bar">
        <h1>{look.say('staff.title')}</h1>
        {session.may('staff') && (
          <button type="button" class="main" onClick={() => { is_making.value = true; }}>
            {look.say('staff.new')}
          </button>
        )}
      </header>
      <ListShown list={list} empty={look.say('staff.empty')}>
        {(rows) => (
          <Accounts accounts={rows} ask={(act, whom) => { asking.value = { act, whom }; }} />
        )}
      </ListShown>
      {is_making.value && <NewAccount close={close} made={made} />}
      {asking.value && (
        <AskFor {...asking.value} acts={acts} close={() => { asking.value = null; }} />
      )}
      {fresh.value && (
        <Secret title={title_of(fresh.value)}
          about={look.say(`staff.${fresh.value.what}_once`)} secret={fresh.value.secret}
          close={() => { fresh.value = null; }} />
      )}
    </>
  );
}
