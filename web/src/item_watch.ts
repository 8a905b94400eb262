// SPDX-License-Identifier: Apache-2.0
// Says when an item's numbers have changed, while somebody looks at it.
import { useEffect } from 'preact/hooks';
import type { Api } from './api';
import { watch_events, type StreamPlace, type Watcher } from './event_stream';
import { use_shell } from './shell';

const pause_ms = 1000; // in a sale an item may change hundreds of times a second

// Calls at once, and not again before the pause is over; then once for all that came meanwhile.
function at_most_every(ms: number, act: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let is_due = false;
  const call = () => {
    is_due = timer !== undefined;
    if (is_due) return;
    act();
    timer = setTimeout(() => {
      timer = undefined;
      if (is_due) call();
    }, ms);
  };
  return { call, stop: () => clearTimeout(timer) };
}

// Watches while the tab is shown, and goes on where it was when it is shown again: a browser keeps
// but a few connections to one service, for all tabs. Returns how to end it.
export function watch_while_shown(api: Api, sku: string, watcher: Watcher): () => void {
  const place: StreamPlace = { last: null };
  let watching: AbortController | null = null;
  const follow = () => {
    if (!document.hidden && !watching) {
      watching = new AbortController();
      void watch_events(api, sku, watcher, watching.signal, place);
    } else if (document.hidden) {
      watching?.abort();
      watching = null;
    }
  };
  follow();
  document.addEventListener('visibilitychange', follow);
  return () => {
    document.removeEventListener('visibilitychange', follow);
    watching?.abort();
  };
}

export function use_item_changes(sku: string, changed: () => void) {
  const { api } = use_shell();
  useEffect(() => {
    const { call, stop } = at_most_every(pause_ms, changed);
    const end = watch_while_shown(api, sku, {
      event: call,
      // What happened while nobody was listening.
      connection: (state) => state === 'open' && call(),
      gap: call,
    });
    return () => {
      end();
      stop();
    };
  }, [sku]);
}
