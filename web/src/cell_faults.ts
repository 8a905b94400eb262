// SPDX-License-Identifier: Apache-2.0
// What is wrong with one row or cell of what was sent, in the reader's language. Pure.
import type { Look } from './look';
import { en, type Key } from './text/en';

export interface CellFault {
  readonly code?: string | undefined; // of a service that names its faults
  readonly detail: string; // in English
}

// The sentence for its code, with the numbers that the service's own sentence has; that one itself
// where there is no other. Faults that mean something else in `place` are looked up there first.
export function cell_fault_text(
  look: Look, { code, detail }: CellFault, place: 'counts.fault' | 'imports.fault',
): string {
  const key = [place, 'imports.fault', 'code'].map((one) => `${one}.${code}`)
    .find((one): one is Key => one in en);
  if (code === undefined || key === undefined) return detail;
  const numbers = detail.match(/\d+/g) ?? [];
  const wanted = en[key].match(/\{\d\}/g) ?? [];
  return numbers.length < wanted.length ? detail
    : look.say(key, Object.fromEntries(numbers.entries()));
}
