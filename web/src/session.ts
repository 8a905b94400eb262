// SPDX-License-Identifier: Apache-2.0
// Who is signed in, as the service tells it. What proves it is a cookie that no script can read, so
// nothing here is a secret but the token below, and that is of no use without the cookie.
import { batch, signal, type ReadonlySignal } from '@preact/signals';

export type Right =
  | 'read' | 'reserve' | 'stock' | 'settings' | 'keys' | 'staff' | 'approve';

export interface Caller {
  readonly name: string;
  readonly role: string;
  readonly rights: readonly Right[];
  readonly staff_id: string | null;
  readonly csrf_token: string | null;
}

export type Ending = 'signed_out' | 'refused';

export interface Session {
  readonly caller: ReadonlySignal<Caller | null>;
  readonly ended_by: ReadonlySignal<Ending | null>;
  may(what: Right): boolean;
  open(caller: Caller): void;
  end(by: Ending): void;
  // Adds to a request that changes something what only a page of the service can know.
  vouch(headers: Headers): void;
}

export function create_session(): Session {
  const caller = signal<Caller | null>(null);
  const ended_by = signal<Ending | null>(null);
  const become = (who: Caller | null, by: Ending | null) => batch(() => {
    caller.value = who;
    ended_by.value = by;
  });
  return {
    caller,
    ended_by,
    may: (what) => caller.value?.rights.includes(what) ?? false,
    open: (who) => become(who, null),
    end: (by) => become(null, by),
    vouch(headers) {
      const token = caller.value?.csrf_token;
      if (token) headers.set('X-CSRF-Token', token);
    },
  };
}
