// SPDX-License-Identifier: Apache-2.0
// The door: a name and a password, or the link of somebody who has neither yet, or no password any
// more.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { is_fault_of, is_refused_with, Unsettled } from '../asking';
import type { Invitation } from '../route';
import { fault_text, use_shell, use_title } from '../shell';
import { Field, typed, typed_exactly } from '../widgets/field';
import { Form } from '../widgets/form';
import { PasswordField } from '../widgets/password_field';

const name_length_max = 100;

// One form in the middle of the page; whoever comes here begins to type.
function Door({ title, children }: { title: string; children: ComponentChildren }) {
  const main = useRef<HTMLElement>(null);
  use_title(title);
  useEffect(() => main.current?.querySelector('input')?.focus(), []);
  return (
    <main class="sign-in" id="main" ref={main}>
      <h1>{title}</h1>
      {children}
    </main>
  );
}

export function SignInScreen() {
  const { api, look, notices, session } = use_shell();
  const send = async (form: HTMLFormElement) => {
    const is_kept = await api.sign_in(typed(form, 'name'), typed_exactly(form, 'password'));
    if (!is_kept) notices.refused(look.say('sign_in.no_cookie'));
  };
  const says = (fault: unknown) =>
    is_refused_with(fault, 'unauthenticated') ? look.say('sign_in.wrong') : null;
  return (
    <Door title={look.say('sign_in.title')}>
      <Form action={look.say('sign_in.do')} send={send} says={says}
        before={session.ended_by.value === 'refused' ? look.say('sign_in.ended') : null}>
        <Field label={look.say('name')} name="name" required autocomplete="username"
          autocapitalize="off" spellcheck={false} />
        <PasswordField label={look.say('password')} name="password" />
      </Form>
      <p class="foot">{look.say('sign_in.without')}</p>
    </Door>
  );
}

export function InvitationScreen({ token, is_for }: Invitation) {
  const { api, look, notices, router } = use_shell();
  const is_new = is_for === 'account';
  // The link is spent once it has done its work, so what fails from then on is said elsewhere.
  const enter = async (name: string, password: string) => {
    router.go('#/');
    try {
      if (!await api.sign_in(name, password)) notices.refused(look.say('sign_in.no_cookie'));
    } catch (fault) {
      notices.refused(fault_text(look, fault));
    }
  };
  const send = async (form: HTMLFormElement) => {
    const name = is_new ? typed(form, 'name').normalize('NFC') : '';
    const password = typed_exactly(form, 'password');
    const made = await api.redeem(token, name || null, password);
    notices.done(look.say(is_new ? 'invitation.done' : 'invitation.password_done',
      { name: made.name }));
    await enter(made.name, password);
  };
  const says = (fault: unknown) => {
    if (fault instanceof Unsettled) return look.say('invitation.unsettled');
    if (is_refused_with(fault, 'forbidden')) return look.say('invitation.useless');
    return is_fault_of(fault, '/name') ? look.say('invitation.name_refused') : null;
  };
  return (
    <Door title={look.say(is_new ? 'invitation.title' : 'invitation.password_title')}>
      <Form action={look.say(is_new ? 'invitation.do' : 'invitation.password_do')} send={send}
        says={says}>
        {is_new && (
          <Field label={look.say('name')} name="name" maxLength={name_length_max}
            autocomplete="username" autocapitalize="off" spellcheck={false}
            hint={look.say('invitation.name_hint')} />
        )}
        <PasswordField label={look.say('password')} name="password" is_new />
      </Form>
    </Door>
  );
}
