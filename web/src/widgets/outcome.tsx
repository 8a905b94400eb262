// SPDX-License-Identifier: Apache-2.0
// The three states of what was asked for that are not an answer: it is on its way, there is
// nothing, and it failed.
import type { ComponentChildren } from 'preact';
import { fault_text, use_shell } from '../shell';
import type { Listed, Loaded } from './loading';

export function Waiting() {
  const { look } = use_shell();
  return <p class="waiting" role="status">{look.say('loading')}</p>;
}

export function Nothing({ children }: { children: ComponentChildren }) {
  return <p class="nothing">{children}</p>;
}

export function Failed({ fault, again }: { fault: unknown; again: () => void }) {
  const { look } = use_shell();
  return (
    <div class="failed" role="alert">
      <p>{fault_text(look, fault)}</p>
      <button type="button" onClick={again}>{look.say('try_again')}</button>
    </div>
  );
}

export function Shown<T>({ loaded, children }: {
  loaded: Loaded<T>;
  children: (value: T) => ComponentChildren;
}) {
  const value = loaded.value.value;
  const status = loaded.status.value;
  return (
    <>
      {status === 'failed' && <Failed fault={loaded.fault.value} again={loaded.reload} />}
      {value !== null ? children(value) : status === 'loading' && <Waiting />}
    </>
  );
}

// A list below its head; `children` is only shown when there are rows.
export function ListShown<T>({ list, empty, children }: {
  list: Listed<T>;
  empty: string;
  children: (rows: readonly T[]) => ComponentChildren;
}) {
  const { look } = use_shell();
  const rows = list.rows.value;
  const status = list.status.value;
  return (
    <>
      {rows.length > 0 && children(rows)}
      {rows.length === 0 && list.is_whole.value && <Nothing>{empty}</Nothing>}
      {status === 'loading' && <Waiting />}
      {status === 'failed' && <Failed fault={list.fault.value} again={list.more} />}
      {status === 'ready' && !list.is_whole.value && (
        <button type="button" onClick={list.more}>{look.say('more')}</button>
      )}
    </>
  );
}
