// SPDX-License-Identifier: Apache-2.0
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { fault_text, use_shell } from '../shell';
import { Field, typed } from '../widgets/field';

export function SignInScreen() {
  const { api, look, session } = use_shell();
  const refused = useMemo(() => signal<string | null>(null), []);
  const is_busy = useMemo(() => signal(false), []);
  const submit = async (form: HTMLFormElement) => {
    refused.value = null;
    is_busy.value = true;
    try {
      const key = typed(form, 'key');
      await api.try_key(key);
      session.open(key);
    } catch (fault) {
      refused.value = fault_text(look, fault);
    } finally {
      is_busy.value = false;
    }
  };
  const why = refused.value
    ?? (session.ended_by.value === 'refused' ? look.say('sign_in.ended') : null);
  return (
    <main class="sign-in" id="main">
      <h1>{look.say('sign_in.title')}</h1>
      <form onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}>
        <Field label={look.say('sign_in.key')} name="key" type="password" required maxLength={500}
          pattern="\s*[!-~]+\s*" autocomplete="current-password" hint={look.say('sign_in.hint')} />
        {why && <p class="failed" role="alert">{why}</p>}
        <button type="submit" class="main" disabled={is_busy.value}>
          {look.say('sign_in.do')}
        </button>
      </form>
    </main>
  );
}
