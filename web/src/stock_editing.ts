// SPDX-License-Identifier: Apache-2.0
// Changing a number on hand the way both the grid and an item do it: it is shown at once, and taken
// back, with the reason said, when the service refuses.
import { signal, type ReadonlySignal } from '@preact/signals';
import type { Adjust, Item, Level } from './api';
import { is_refused_with, Unsettled } from './asking';
import type { Look } from './look';
import { fault_text, type Shell } from './shell';

export function with_level(item: Item, level: Level): Item {
  const levels = item.levels.map((one) => (one.location === level.location ? level : one));
  const sum = (of: (one: Level) => number) => levels.reduce((n, one) => n + of(one), 0);
  return {
    ...item, levels,
    on_hand: sum((one) => one.on_hand),
    reserved: sum((one) => one.reserved),
    available: sum((one) => one.available),
  };
}

function with_on_hand(item: Item, location: string, on_hand: number): Item {
  const level = item.levels.find((one) => one.location === location);
  if (!level) return item;
  return with_level(item, { ...level, on_hand, available: Math.max(0, on_hand - level.reserved) });
}

export interface Refused {
  readonly item: Item;
  readonly command: Adjust;
  readonly fault: unknown;
  readonly may_insist: boolean; // more is promised than there would be, and one may say so be it
  readonly notice: number; // the id of what says so
  readonly is_open: boolean; // it may have been booked; sent again, it is booked once
}

export function refused_text(
  look: Look, { item: { sku }, fault, is_open }: Omit<Refused, 'notice'>,
): string {
  return is_open ? look.say('edit.unsettled', { sku })
    : look.say('edit.refused', { sku, why: fault_text(look, fault) });
}

export function may_go_on(refused: Refused | undefined): refused is Refused {
  return refused !== undefined && (refused.may_insist || refused.is_open);
}

export interface Editing {
  // What is on its way, by SKU, and the last refusal of each.
  readonly saving: ReadonlySignal<ReadonlySet<string>>;
  readonly refused: ReadonlySignal<ReadonlyMap<string, Refused>>;
  save(item: Item, command: Adjust): Promise<void>;
  insist(item: Item): Promise<void>; // what was refused, from what is there now
  again(item: Item): Promise<void>; // the same as before, to the letter
  forget(sku: string): void;
}

export function create_editing(
  { api, look, notices }: Shell, show: (sku: string, change: (item: Item) => Item) => void,
): Editing {
  const saving = signal<ReadonlySet<string>>(new Set());
  const refused = signal<ReadonlyMap<string, Refused>>(new Map());
  const forget = (sku: string) => {
    const rest = new Map(refused.value);
    const met = rest.get(sku);
    if (!met) return;
    rest.delete(sku);
    refused.value = rest;
    notices.dismiss(met.notice); // it is settled, or tried again
  };

  async function roll_back(item: Item, command: Adjust, fault: unknown) {
    const met = {
      item, command, fault,
      may_insist: is_refused_with(fault, 'would-be-short'), is_open: fault instanceof Unsettled,
    };
    const notice = notices.refused(refused_text(look, met));
    refused.value = new Map(refused.value).set(item.sku, { ...met, notice });
    show(item.sku, () => item);
    // What it is now, since it is not what was seen here.
    const now = await api.item(item.sku).catch(() => null);
    if (now) show(item.sku, () => now.item);
  }

  async function save(item: Item, command: Adjust) {
    forget(item.sku);
    saving.value = new Set(saving.value).add(item.sku);
    show(item.sku, (now) => with_on_hand(now, command.location, command.set_to));
    try {
      const { level } = await api.adjust(item.sku, command);
      show(item.sku, (now) => with_level(now, level));
      notices.done(look.say('edit.done', { sku: item.sku, n: look.number(level.on_hand) }));
    } catch (fault) {
      await roll_back(item, command, fault);
    } finally {
      const rest = new Set(saving.value);
      rest.delete(item.sku);
      saving.value = rest;
    }
  }

  return {
    saving, refused, forget, save,
    async insist(item) {
      const met = refused.value.get(item.sku);
      if (!met) return;
      const level = item.levels.find((one) => one.location === met.command.location);
      await save(item,
        { ...met.command, allow_short: true, expect_on_hand: level?.on_hand ?? null });
    },
    async again(item) {
      const met = refused.value.get(item.sku);
      if (met) await save(item, met.command);
    },
  };
}
