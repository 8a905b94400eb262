// SPDX-License-Identifier: Apache-2.0
// Oneself: who one is here, and one's password.
import { is_refused_with } from '../asking';
import { use_shell } from '../shell';
import type { Key } from '../text/en';
import { typed_exactly } from '../widgets/field';
import { Form } from '../widgets/form';
import { PasswordField } from '../widgets/password_field';

export function AccountScreen() {
  const { api, look, notices, session } = use_shell();
  const who = session.caller.value;
  const id = who?.staff_id;
  if (!who || !id) return null;
  const send = async (form: HTMLFormElement) => {
    await api.set_password(id, typed_exactly(form, 'password'), typed_exactly(form, 'current'));
    for (const field of form.querySelectorAll('input[required]'))
      (field as HTMLInputElement).value = '';
    notices.done(look.say('account.changed'));
  };
  const says = (fault: unknown) =>
    is_refused_with(fault, 'forbidden') ? look.say('account.wrong') : null;
  return (
    <>
      <h1>{look.say('account.title')}</h1>
      <dl class="pairs">
        <div><dt>{look.say('name')}</dt><dd>{who.name}</dd></div>
        <div><dt>{look.say('role')}</dt><dd>{look.say(`role.${who.role}` as Key)}</dd></div>
        <div>
          <dt>{look.say('account.may')}</dt><dd>{look.say(`role.${who.role}.may` as Key)}</dd>
        </div>
      </dl>
      <section class="narrow" aria-labelledby="password">
        <h2 id="password">{look.say('account.password')}</h2>
        <p>{look.say('account.password_about')}</p>
        <Form action={look.say('account.change')} send={send} says={says}>
          <input class="unseen" name="username" autocomplete="username" value={who.name} readOnly
            tabIndex={-1} aria-hidden="true" />
          <PasswordField label={look.say('account.current')} name="current" />
          <PasswordField label={look.say('account.new')} name="password" is_new />
        </Form>
      </section>
    </>
  );
}
