// SPDX-License-Identifier: Apache-2.0
// What has just happened, said where everybody hears it, also those who do not see the page.
import { signal, type ReadonlySignal } from '@preact/signals';

export interface Notice {
  readonly id: number;
  readonly kind: 'done' | 'refused';
  readonly text: string;
}

export interface Notices {
  readonly all: ReadonlySignal<readonly Notice[]>;
  done(text: string): void;
  refused(text: string): number; // stays until it is dismissed, by the id that is returned
  dismiss(id: number): void;
}

const shown_ms = 6000;
const shown_max = 5;

export function create_notices(): Notices {
  const all = signal<readonly Notice[]>([]);
  let last = 0;
  const dismiss = (id: number) => {
    all.value = all.value.filter((notice) => notice.id !== id);
  };
  const add = (kind: Notice['kind'], text: string) => {
    const id = ++last;
    all.value = [...all.value, { id, kind, text }].slice(-shown_max);
    if (kind === 'done') setTimeout(() => dismiss(id), shown_ms);
    return id;
  };
  return {
    all,
    done: (text) => add('done', text),
    refused: (text) => add('refused', text),
    dismiss,
  };
}
