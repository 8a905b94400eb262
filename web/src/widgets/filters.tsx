// SPDX-License-Identifier: Apache-2.0
// A form of filters that lives in the address: what is typed there is asked for, and stays when the
// page is loaded anew.
import type { ComponentChildren } from 'preact';
import { use_shell } from '../shell';

export function Filters({ children }: { children: ComponentChildren }) {
  const { router, look } = use_shell();
  const submit = (event: Event) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const change: Record<string, string> = {};
    for (const [name, value] of new FormData(form)) change[name] = String(value).trim();
    router.filter(change);
  };
  return (
    <form class="filters" role="search" onSubmit={submit}>
      {children}
      <button type="submit">{look.say('filter')}</button>
    </form>
  );
}
