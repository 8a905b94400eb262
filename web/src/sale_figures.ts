// SPDX-License-Identifier: Apache-2.0
// What a sale comes to, reckoned from its events: how fast units go, what remains, and when there
// will be nothing left at this pace. Pure: the time is handed in.
import type { Item, StockEvent } from './api';

export interface Sample {
  readonly at: number; // seconds since 1970
  readonly remaining: number | null;
  readonly held: number | null;
  readonly rate: number; // units a minute that left what is available
}

export interface ItemFigures {
  readonly sku: string;
  readonly remaining: number;
  readonly held: number;
  readonly sold: number; // since the watching began
  readonly rate: number;
  readonly seconds_left: number | null; // null: at this pace, never
}

const window_ms = 60_000;

interface Step {
  readonly at: number;
  readonly units: number; // what left available; negative when units came back
}

interface Levels {
  readonly by_location: Map<string, { version: number; available: number; reserved: number }>;
  steps: Step[];
  sold: number;
}

// What an event takes from available by people buying. Deliveries and counts are no pace.
function units_taken(event: StockEvent): number {
  const units = event.quantity ?? 0;
  if (event.type === 'reservation.held') return units;
  if (event.type === 'reservation.released' || event.type === 'reservation.expired') return -units;
  return 0;
}

export interface Figures {
  start_with(item: Item): void;
  take(event: StockEvent, now: number): void;
  items(now: number): ItemFigures[]; // the fastest first
  sample(now: number): Sample;
}

export function create_figures(): Figures {
  const all = new Map<string, Levels>();
  let behind = Infinity; // this machine's clock, of the service's, as the promptest event has it
  const of = (sku: string) => {
    const known = all.get(sku);
    if (known) return known;
    const fresh: Levels = { by_location: new Map(), steps: [], sold: 0 };
    all.set(sku, fresh);
    return fresh;
  };

  function figures_of(sku: string, levels: Levels, now: number): ItemFigures {
    levels.steps = levels.steps.filter((step) => step.at > now - window_ms);
    const taken = levels.steps.reduce((sum, step) => sum + step.units, 0);
    const rate = Math.max(0, (taken * 60_000) / window_ms);
    let remaining = 0;
    let held = 0;
    for (const level of levels.by_location.values()) {
      remaining += level.available;
      held += level.reserved;
    }
    const seconds_left = rate > 0 ? (remaining / rate) * 60 : null;
    return { sku, remaining, held, sold: levels.sold, rate, seconds_left };
  }

  const items = (now: number) =>
    [...all].map(([sku, levels]) => figures_of(sku, levels, now))
      .sort((a, b) => b.rate - a.rate || b.sold - a.sold || (a.sku < b.sku ? -1 : 1));
  return {
    items,
    start_with(item) {
      const levels = of(item.sku);
      for (const level of item.levels)
        if ((levels.by_location.get(level.location)?.version ?? -1) < level.version)
          levels.by_location.set(level.location, level);
    },
    take(event, now) {
      const levels = of(event.sku);
      const known = levels.by_location.get(event.location);
      if (!known || event.version >= known.version)
        levels.by_location.set(event.location, {
          version: event.version, available: event.available, reserved: event.reserved,
        });
      const happened = Date.parse(event.occurred_at);
      behind = Math.min(behind, now - happened);
      const units = units_taken(event);
      if (units !== 0) levels.steps.push({ at: happened + behind, units });
      if (event.type === 'reservation.confirmed') levels.sold += event.quantity ?? 0;
    },
    sample(now) {
      const list = items(now);
      const sum = (part: (one: ItemFigures) => number) => list.reduce((n, one) => n + part(one), 0);
      return {
        at: now / 1000,
        remaining: list.length === 0 ? null : sum((one) => one.remaining),
        held: list.length === 0 ? null : sum((one) => one.held),
        rate: sum((one) => one.rate),
      };
    },
  };
}
