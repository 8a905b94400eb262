// SPDX-License-Identifier: Apache-2.0
// Ties what the service finds fault with to the fields it is about, so that a screen reader says
// both together.
import { useLayoutEffect } from 'preact/hooks';
import { Refusal } from '../asking';

// The members that are named, as in /name or /types/0, are the fields of the same names.
function fields_of(form: HTMLFormElement, fault: unknown): Element[] {
  const errors = fault instanceof Refusal ? fault.problem.errors ?? [] : [];
  return errors.flatMap(({ pointer }) => {
    const field = form.elements.namedItem(pointer.split('/')[1] ?? '');
    return field instanceof Element ? [field] : [];
  });
}

// `id` is that of the sentence. The focus goes to the first field that is wrong.
export function use_named_faults(
  form: { current: HTMLFormElement | null }, fault: unknown, id: string,
) {
  useLayoutEffect(() => {
    if (!form.current) return undefined;
    const wrong = fields_of(form.current, fault);
    const before = wrong.map((field) => field.getAttribute('aria-describedby'));
    wrong.forEach((field, at) => {
      field.setAttribute('aria-invalid', 'true');
      field.setAttribute('aria-describedby', [before[at], id].filter(Boolean).join(' '));
    });
    if (wrong[0] instanceof HTMLElement) wrong[0].focus();
    return () => wrong.forEach((field, at) => {
      field.removeAttribute('aria-invalid');
      const hint = before[at];
      if (hint) field.setAttribute('aria-describedby', hint);
      else field.removeAttribute('aria-describedby');
    });
  }, [fault]);
}
