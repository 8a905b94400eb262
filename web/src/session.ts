// SPDX-License-Identifier: Apache-2.0
// Who is signed in. For now that is an API key, typed in and kept until the tab is closed. Nothing
// else knows so: when cookies take its place, this file changes alone.
import { signal, type ReadonlySignal } from '@preact/signals';

export type Ending = 'signed_out' | 'refused';

export interface Session {
  readonly is_open: ReadonlySignal<boolean>;
  readonly ended_by: ReadonlySignal<Ending | null>;
  open(key: string): void;
  end(by: Ending): void;
  // Adds to a request what tells the service who asks.
  authorize(headers: Headers): void;
}

const place = 'holdfast.key';

export function create_session(storage: Storage): Session {
  const key = signal(storage.getItem(place));
  const is_open = signal(key.value !== null);
  const ended_by = signal<Ending | null>(null);
  return {
    is_open,
    ended_by,
    open(typed) {
      storage.setItem(place, typed);
      key.value = typed;
      ended_by.value = null;
      is_open.value = true;
    },
    end(by) {
      storage.removeItem(place);
      key.value = null;
      ended_by.value = by;
      is_open.value = false;
    },
    authorize(headers) {
      if (key.value !== null) headers.set('Authorization', `Bearer ${key.value}`);
    },
  };
}
