// SPDX-License-Identifier: Apache-2.0
// A password that can be looked at, so that nobody has to type a new one twice.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { use_shell } from '../shell';
import { Check, Field } from './field';

const new_length_min = 10;

export function PasswordField({ label, name, is_new }: {
  label: string;
  name: string;
  is_new?: boolean;
}) {
  const { look } = use_shell();
  const is_shown = useMemo(() => signal(false), []);
  const of_kind = is_new
    ? { autocomplete: 'new-password', minLength: new_length_min, hint: look.say('password.rule') }
    : { autocomplete: 'current-password' };
  return (
    <>
      <Field label={label} name={name} type={is_shown.value ? 'text' : 'password'} required
        autocapitalize="off" spellcheck={false} {...of_kind} />
      <Check label={look.say('password.show')} name={`${name}_shown`} checked={is_shown.value}
        aria-label={look.say('password.show_of', { name: label })}
        onChange={(event) => { is_shown.value = event.currentTarget.checked; }} />
    </>
  );
}
