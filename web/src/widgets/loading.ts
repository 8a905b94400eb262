// SPDX-License-Identifier: Apache-2.0
// What a screen asks the service for: one thing, or a list that comes page by page. An answer that
// comes after the question has changed is dropped.
import { batch, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Page } from '../api';

export type Status = 'loading' | 'ready' | 'failed';

export interface Loaded<T> {
  readonly value: Signal<T | null>;
  readonly status: ReadonlySignal<Status>;
  readonly fault: ReadonlySignal<unknown>;
  reload(): void;
}

export function use_loaded<T>(
  load: (signal: AbortSignal) => Promise<T>, question: readonly unknown[],
): Loaded<T> {
  const loaded = useMemo(() => {
    const value = signal<T | null>(null);
    const status = signal<Status>('loading');
    const fault = signal<unknown>(null);
    let asking = new AbortController();
    const reload = () => {
      asking.abort();
      const mine = (asking = new AbortController());
      status.value = 'loading';
      load(mine.signal).then(
        (answer) => {
          if (mine.signal.aborted) return;
          batch(() => {
            value.value = answer;
            status.value = 'ready';
          });
        },
        (why: unknown) => {
          if (mine.signal.aborted) return;
          batch(() => {
            fault.value = why;
            status.value = 'failed';
          });
        },
      );
    };
    return { value, status, fault, reload, stop: () => asking.abort() };
  }, question);
  useEffect(() => {
    loaded.reload();
    return loaded.stop;
  }, [loaded]);
  return loaded;
}

export interface Listed<T> {
  readonly rows: Signal<readonly T[]>;
  readonly status: ReadonlySignal<Status>;
  readonly fault: ReadonlySignal<unknown>;
  readonly is_whole: ReadonlySignal<boolean>;
  more(): void;
  reload(): void; // what is shown stays until the answer is there
  // Puts what is new before what is shown; `id` tells what is shown already.
  catch_up(id: (row: T) => string): Promise<void>;
  // Changes rows that are shown, and answers with how to undo it.
  change(is_meant: (row: T) => boolean, to: (row: T) => T): () => void;
}

// A page that filters out most of what it looked at may be short, even empty, and not the last; so
// many of those are passed before somebody has to ask for more.
const empty_pages_max = 20;

function create_list<T>(
  load: (cursor: string | null, signal: AbortSignal) => Promise<Page<T>>,
): Listed<T> & { stop(): void } {
  const rows = signal<readonly T[]>([]);
  const status = signal<Status>('loading');
  const fault = signal<unknown>(null);
  const is_whole = signal(false);
  let cursor: string | null = null;
  let asking: AbortController | null = null;
  let stopping = new AbortController();
  let behind: ((row: T) => string) | null = null; // what is new since the asking began

  async function fetch_rows(mine: AbortController) {
    for (let tried = 0; tried < empty_pages_max; ++tried) {
      const is_first = cursor === null;
      const page = await load(cursor, mine.signal);
      if (mine.signal.aborted) return;
      cursor = page.next_cursor;
      batch(() => {
        rows.value = is_first ? page.data : rows.value.concat(page.data);
        is_whole.value = page.next_cursor === null;
      });
      if (page.data.length > 0 || page.next_cursor === null) return;
    }
  }

  function more() {
    if (asking || is_whole.value) return;
    const mine = (asking = new AbortController());
    status.value = 'loading';
    fetch_rows(mine).then(
      () => {
        if (mine.signal.aborted) return;
        asking = null;
        status.value = 'ready';
        const id = behind;
        behind = null;
        if (id) void catch_up(id);
      },
      (why: unknown) => {
        if (mine.signal.aborted) return;
        asking = null;
        batch(() => {
          fault.value = why;
          status.value = 'failed';
        });
      },
    );
  }

  // A fault here is not said: what is shown was true, and the next change tries again.
  async function catch_up(id: (row: T) => string) {
    if (asking) {
      behind = id;
      return;
    }
    const mine = stopping.signal;
    const page = await load(null, mine).catch(() => null);
    if (mine.aborted || !page) return;
    const shown = new Set(rows.value.map(id));
    const at = page.data.findIndex((row) => shown.has(id(row)));
    if (at >= 0) {
      rows.value = page.data.slice(0, at).concat(rows.value);
    } else if (!asking) {
      batch(() => {
        cursor = page.next_cursor;
        rows.value = page.data;
        is_whole.value = page.next_cursor === null;
      });
    }
  }

  function stop() {
    asking?.abort();
    asking = null;
    stopping.abort();
    stopping = new AbortController();
    behind = null;
  }

  return {
    rows, status, fault, is_whole, more, catch_up, stop,
    reload() {
      stop();
      cursor = null;
      is_whole.value = false;
      more();
    },
    change(is_meant, to) {
      const before = new Map<T, T>();
      rows.value = rows.value.map((row) => {
        if (!is_meant(row)) return row;
        const after = to(row);
        before.set(after, row);
        return after;
      });
      return () => {
        rows.value = rows.value.map((row) => before.get(row) ?? row);
      };
    },
  };
}

export function use_list<T>(
  load: (cursor: string | null, signal: AbortSignal) => Promise<Page<T>>,
  question: readonly unknown[],
): Listed<T> {
  const list = useMemo(() => create_list(load), question);
  useEffect(() => {
    list.reload();
    return list.stop;
  }, [list]);
  return list;
}
