// SPDX-License-Identifier: Apache-2.0
// Entering what was counted. What is typed goes out at once, because with it is kept what the level
// has on hand at that moment. What is refused, or has no answer, stays to be put right: also when
// its screen is left, or the session ends, for as long as the page is open.
import { batch, signal, type ReadonlySignal } from '@preact/signals';
import type { Api, CountEntry } from './api';
import { is_refused_with, new_key } from './asking';
import { faults_in, rows_refused, type CountedRow, type RowFaults } from './counted_rows';
import type { Look } from './look';
import type { Notices } from './notices';

export interface Attempt {
  readonly id: number;
  // Sent again unchanged under it, what was kept after all keeps its first moment.
  readonly key: string;
  readonly rows: readonly CountedRow[];
  readonly counted_at: string | null; // null: when it arrives
  readonly is_sending: boolean;
  readonly faults: RowFaults;
  readonly fault: unknown; // of all of it; null when nothing was refused
}

// The screen of the count, while there is one.
export interface CountWatcher {
  entered(skus: ReadonlySet<string>, now: readonly CountEntry[]): void;
  closed(): void; // the count takes no more
}

export interface Entering {
  readonly attempts: ReadonlySignal<readonly Attempt[]>; // what is not entered, the latest first
  readonly latest: ReadonlySignal<readonly CountEntry[]>;
  watch(watcher: CountWatcher): () => void; // returns how to end it
  lay_out(rows: readonly CountedRow[], counted_at: string | null): Attempt;
  change(attempt: Attempt, rows: readonly CountedRow[]): void;
  send(attempt: Attempt): Promise<void>;
  drop(attempt: Attempt): void;
}

const no_faults: RowFaults = new Map();

interface Means {
  readonly api: Api;
  readonly look: Look;
  readonly notices: Notices;
}

function create_entering({ api, look, notices }: Means, id: string): Entering {
  const attempts = signal<readonly Attempt[]>([]);
  const latest = signal<readonly CountEntry[]>([]);
  const turns = new Map<string, Promise<unknown>>();
  let watcher: CountWatcher | null = null;
  let last = 0;

  const show = (now: Attempt) => {
    attempts.value = attempts.value.map((one) => (one.id === now.id ? now : one));
  };
  const drop = ({ id: gone }: Attempt) => {
    attempts.value = attempts.value.filter((one) => one.id !== gone);
  };

  // Of one SKU one request goes after the other, so that the number typed last is the one kept.
  function in_turn(skus: readonly string[], act: () => Promise<void>) {
    const turn = Promise.all(skus.map((sku) => turns.get(sku))).then(act);
    for (const sku of skus) turns.set(sku, turn);
    return turn;
  }

  async function ask(attempt: Attempt) {
    const { rows, counted_at, key } = attempt;
    try {
      const when = counted_at === null ? {} : { counted_at };
      const { entries } = await api.enter_counted(id,
        rows.map(({ sku, quantity }) => ({ sku, quantity: Number(quantity), ...when })), key);
      batch(() => {
        drop(attempt);
        latest.value = entries;
        watcher?.entered(new Set(rows.map(({ sku }) => sku)), entries);
      });
    } catch (fault) {
      show({ ...attempt, is_sending: false, faults: rows_refused(fault), fault });
      if (is_refused_with(fault, 'count-closed')) watcher?.closed();
      if (!watcher) notices.refused(look.say('counts.not_entered', { n: rows.length }));
    }
  }

  return {
    attempts, latest, drop,
    watch(by) {
      watcher = by;
      return () => {
        if (watcher === by) watcher = null;
      };
    },
    lay_out(rows, counted_at) {
      const attempt: Attempt = {
        id: ++last, key: new_key(), rows, counted_at, is_sending: false, faults: faults_in(rows),
        fault: null,
      };
      attempts.value = [attempt, ...attempts.value];
      return attempt;
    },
    change(attempt, rows) {
      show({ ...attempt, key: new_key(), rows, faults: faults_in(rows), fault: null });
    },
    async send(attempt) {
      const faults = faults_in(attempt.rows);
      if (faults.size > 0) return show({ ...attempt, faults, fault: null });
      const sent = { ...attempt, is_sending: true, faults: no_faults, fault: null };
      show(sent);
      return in_turn(sent.rows.map(({ sku }) => sku), () => ask(sent));
    },
  };
}

export type Enterings = (person: string, count_id: string) => Entering;

// Of each person at this browser and each count, as long as something of it is not entered.
export function create_enterings(means: Means): Enterings {
  const kept = new Map<string, Entering>();
  return (person, count_id) => {
    for (const [name, { attempts }] of kept)
      if (attempts.value.length === 0) kept.delete(name);
    const name = JSON.stringify([person, count_id]);
    const known = kept.get(name) ?? create_entering(means, count_id);
    kept.set(name, known);
    return known;
  };
}
