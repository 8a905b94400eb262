// SPDX-License-Identifier: Apache-2.0
// A form whose refusal stands above its button, and that is not sent twice at once.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useMemo, useRef } from 'preact/hooks';
import { fault_text, use_presence, use_shell } from '../shell';
import { use_named_faults } from './named_faults';

export function Form({ action, send, says, close, before, children }: {
  action: string;
  send: (form: HTMLFormElement) => Promise<void>;
  says?: (fault: unknown) => string | null; // what a fault means here, if not what it always does
  close?: () => void;
  before?: string | null; // what stands there until something is refused
  children: ComponentChildren;
}) {
  const { look, notices } = use_shell();
  const is_here = use_presence();
  const refused = useMemo(() => signal<unknown>(null), []);
  const is_busy = useMemo(() => signal(false), []);
  const submit = async (form: HTMLFormElement) => {
    if (is_busy.value) return;
    refused.value = null;
    is_busy.value = true;
    try {
      await send(form);
    } catch (fault) {
      refused.value = fault;
      if (!is_here()) notices.refused(`${action}: ${says?.(fault) ?? fault_text(look, fault)}`);
    } finally {
      is_busy.value = false;
    }
  };
  const fault = refused.value;
  const why = fault !== null ? says?.(fault) ?? fault_text(look, fault)
    : is_busy.value ? null : before;
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  use_named_faults(form, fault, id);
  return (
    <form ref={form} aria-describedby={why ? id : undefined} onSubmit={(event) => {
      event.preventDefault();
      void submit(event.currentTarget);
    }}>
      {children}
      {why && <p id={id} class="failed" role="alert">{why}</p>}
      <div class="actions">
        <button type="submit" class="main" aria-disabled={is_busy.value}>{action}</button>
        {close && <button type="button" onClick={close}>{look.say('cancel')}</button>}
      </div>
    </form>
  );
}
