// SPDX-License-Identifier: Apache-2.0
// Asks before something is done, and for its reason where the service wants one.
import type { ComponentChildren } from 'preact';
import { use_shell } from '../shell';
import { Dialog } from './dialog';
import { Field, typed } from './field';

export function Ask({ title, action, reason, is_grave, close, done, children }: {
  title: string;
  action: string;
  reason?: boolean;
  is_grave?: boolean;
  close: () => void;
  done: (form: HTMLFormElement, reason: string) => void;
  children?: ComponentChildren;
}) {
  const { look } = use_shell();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    done(form, reason ? typed(form, 'reason') : '');
    close();
  };
  return (
    <Dialog title={title} close={close}>
      <form onSubmit={submit}>
        {children}
        {reason && <Field label={look.say('reason')} name="reason" required maxLength={500}
          pattern=".*\S.*" autocomplete="off" />}
        <div class="actions">
          <button type="submit" class={is_grave ? 'grave' : 'main'}>{action}</button>
          <button type="button" onClick={close}>{look.say('cancel')}</button>
        </div>
      </form>
    </Dialog>
  );
}
