// SPDX-License-Identifier: Apache-2.0
// A form of filters that lives in the address: what is typed there is asked for, and stays when the
// page is loaded anew.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { use_shell } from '../shell';

export function Filters({ children }: { children: ComponentChildren }) {
  const { router, look } = use_shell();
  const element = useRef<HTMLFormElement>(null);
  const { query } = router.place.value;
  // The fields follow the address, also when a link or the back button changed it; they are not
  // made anew for that, so the focus stays where it is. At once, so that nothing typed is lost.
  useLayoutEffect(() => {
    for (const field of element.current?.elements ?? [])
      if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement)
        field.value = query[field.name] ?? '';
  }, [query]);
  const submit = (event: Event) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const change: Record<string, string> = {};
    for (const [name, value] of new FormData(form)) change[name] = String(value).trim();
    router.filter(change);
  };
  return (
    <form ref={element} class="filters" role="search" onSubmit={submit}>
      {children}
      <button type="submit">{look.say('filter')}</button>
    </form>
  );
}
