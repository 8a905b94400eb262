// SPDX-License-Identifier: Apache-2.0
// The service's events as they come. The browser's EventSource does not tell why it was refused, so
// the stream is read here: blocks of lines, taken up again after the last id when the connection
// ends.
import type { Api, StockEvent } from './api';
import { is_refused_with, Refusal } from './asking';

export interface Block {
  readonly id: string | null;
  readonly data: string | null;
}

// Cuts text that comes in pieces into blocks; what has no end yet waits.
export function create_cutter() {
  let rest = '';
  return (piece: string): Block[] => {
    rest += piece;
    const parts = rest.split(/\r?\n\r?\n/);
    rest = parts.pop() ?? '';
    return parts.map(block_of);
  };
}

function block_of(text: string): Block {
  let id: string | null = null;
  const data: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue; // a comment, or a name alone
    const value = line.slice(colon + 1).replace(/^ /, '');
    if (line.startsWith('id:')) id = value;
    else if (line.startsWith('data:')) data.push(value);
  }
  return { id, data: data.length === 0 ? null : data.join('\n') };
}

export type Connection = 'connecting' | 'open' | 'waiting' | 'refused';

export interface Watcher {
  event(event: StockEvent): void;
  connection(state: Connection, fault: unknown): void;
  // Some events are no longer kept, so what was counted so far has a hole.
  gap(): void;
}

const pause_first_ms = 500;
const pause_max_ms = 15_000;
// The service says something every 15 seconds; a connection silent for longer is dead.
const silence_max_ms = 40_000;

// Refusals that the same request would meet again. When the session has ended, the page is at the
// door by now.
function is_final(fault: unknown): boolean {
  return fault instanceof Refusal && fault.problem.status < 500 && fault.problem.status !== 429 &&
    fault.problem.code !== 'events-expired';
}

// The place of the last event that was seen; null: events from now on.
export interface StreamPlace {
  last: string | null;
}

// Watches until the signal is aborted, from the place on, which goes along.
export async function watch_events(
  api: Api, sku: string, watcher: Watcher, stop: AbortSignal, place: StreamPlace = { last: null },
) {
  let pause = pause_first_ms;

  // Where to begin is known before there is a stream, so that not even the first connection can end
  // without a place to go on from.
  async function read_once() {
    const attempt = new AbortController();
    const abort = () => attempt.abort();
    stop.addEventListener('abort', abort);
    let alarm = setTimeout(abort, silence_max_ms);
    try {
      place.last ??= (await api.events_end(attempt.signal)).next_after;
      const body = await api.events({ sku }, place.last, attempt.signal);
      watcher.connection('open', null);
      const cut = create_cutter();
      const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<
        string, Uint8Array<ArrayBuffer>>).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(alarm);
        alarm = setTimeout(abort, silence_max_ms);
        for (const block of cut(value)) {
          pause = pause_first_ms;
          if (block.id !== null) place.last = block.id;
          if (block.data !== null) watcher.event(JSON.parse(block.data) as StockEvent);
        }
      }
    } finally {
      clearTimeout(alarm);
      stop.removeEventListener('abort', abort);
    }
  }

  while (!stop.aborted) {
    watcher.connection('connecting', null);
    let fault: unknown = null;
    try {
      await read_once();
    } catch (why) {
      fault = why;
    }
    if (stop.aborted) return;
    if (is_final(fault)) return watcher.connection('refused', fault);
    if (is_refused_with(fault, 'events-expired')) {
      place.last = null;
      watcher.gap();
    }
    watcher.connection('waiting', fault);
    // Not all at once after the service has been away.
    const wait = pause * (0.5 + Math.random());
    await new Promise((resolve) => setTimeout(resolve, wait));
    pause = Math.min(2 * pause, pause_max_ms);
  }
}
