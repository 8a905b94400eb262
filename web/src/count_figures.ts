// SPDX-License-Identifier: Apache-2.0
// What the entries of a count come to, and what moved while it went on. Pure.
import type { CountEntry, ShownCount, StockCount } from './api';

// What was sold, returned or corrected since an entry was made. Until it is applied, on_hand_after
// has the difference in it already, but for one that is out of date.
export function moved_since(entry: CountEntry, state: StockCount['state']): number {
  const has_difference = state === 'applied' || (state === 'open' && !entry.outdated);
  return entry.on_hand_after - (has_difference ? entry.quantity : entry.on_hand);
}

// More was sold since than was found: it cannot be applied.
export function is_beyond_nothing(entry: CountEntry): boolean {
  return entry.on_hand_after < 0;
}

export interface CountSums {
  readonly differing: number;
  readonly found: number; // units beyond what was there
  readonly missing: number;
  readonly short: number; // SKUs of which more is promised than there will be
  readonly outdated: number;
}

export function sums_of(entries: readonly CountEntry[]): CountSums {
  const how_many = (is_meant: (entry: CountEntry) => boolean) => entries.filter(is_meant).length;
  const units = (sign: 1 | -1) =>
    entries.reduce((sum, entry) => sum + Math.max(0, sign * entry.difference), 0);
  return {
    differing: how_many((entry) => entry.difference !== 0),
    found: units(1),
    missing: units(-1),
    short: how_many((entry) => entry.short > 0),
    outdated: how_many((entry) => entry.outdated),
  };
}

// Entries that were named in a request beside all others; those that are not there were taken back.
export function with_entries(
  count: ShownCount, named: ReadonlySet<string>, now: readonly CountEntry[],
): ShownCount {
  const entries = count.entries.filter(({ sku }) => !named.has(sku)).concat(now);
  const counted = new Set(now.map(({ sku }) => sku));
  return { ...count, entries, uncounted: count.uncounted.filter((sku) => !counted.has(sku)) };
}
