// SPDX-License-Identifier: Apache-2.0
// A label and what it labels, with a hint that screen readers say after it.
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';

// Browsers let years of six digits be typed, which no time of the API has.
const last_moment = '9999-12-31T23:59:59';

interface Common {
  label: string;
  name: string;
  hint?: string;
}

export function Field({ label, hint, ...input }: Common & JSX.IntrinsicElements['input']) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} aria-describedby={hint ? `${id}-hint` : undefined}
        max={input.type === 'datetime-local' ? last_moment : undefined} {...input} />
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  );
}

export function Choice({ label, hint, children, ...select }:
    Common & JSX.IntrinsicElements['select'] & { children: ComponentChildren }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} aria-describedby={hint ? `${id}-hint` : undefined} {...select}>
        {children}
      </select>
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  );
}

export function Lines({ label, hint, ...area }: Common & JSX.IntrinsicElements['textarea']) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea id={id} aria-describedby={hint ? `${id}-hint` : undefined} {...area} />
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  );
}

// An option that a reset of the form comes back to.
export function Option({ value, is_default, children }: {
  value: string;
  is_default: boolean;
  children: ComponentChildren;
}) {
  const as_reset = { defaultSelected: is_default };
  return <option value={value} {...as_reset}>{children}</option>;
}

export function Check({ label, ...input }: Common & JSX.IntrinsicElements['input']) {
  return (
    <label class="check">
      <input type="checkbox" {...input} />
      {label}
    </label>
  );
}

// The text typed under a name, to the last blank.
export function typed_exactly(form: HTMLFormElement, name: string): string {
  return String(new FormData(form).get(name) ?? '');
}

// The same without blanks at its ends.
export function typed(form: HTMLFormElement, name: string): string {
  return typed_exactly(form, name).trim();
}
