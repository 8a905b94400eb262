// SPDX-License-Identifier: Apache-2.0
// Saving the rules of an item, only while they are what was seen here. What somebody else changed
// meanwhile is laid beside what was wanted, and neither is lost.
import { signal, type ReadonlySignal } from '@preact/signals';
import type { Item, Settings } from './api';
import { is_refused_with } from './asking';
import { changes_between } from './item_settings';
import { fault_text, type Shell } from './shell';

// An item and the tag of its settings.
export interface Seen {
  readonly item: Item;
  readonly tag: string;
}

export interface Conflict {
  readonly before: Seen; // what the wish was made from
  readonly now: Seen;
  readonly wish: Partial<Settings>;
}

export interface SettingsSaving {
  readonly is_saving: ReadonlySignal<boolean>;
  readonly refused: ReadonlySignal<unknown>; // the fault; null when nothing was refused
  readonly conflict: ReadonlySignal<Conflict | null>;
  save(before: Seen, wish: Partial<Settings>): Promise<void>;
  insist(): void; // in a conflict: the wish all the same
  give_way(): void; // in a conflict: what somebody else has set
  put_off(): void;
}

export function create_settings_saving(
  { api, look, notices }: Shell, changed: (now: Seen) => void, is_here: () => boolean,
): SettingsSaving {
  const is_saving = signal(false);
  const refused = signal<unknown>(null);
  const conflict = signal<Conflict | null>(null);

  async function attempt(before: Seen, wish: Partial<Settings>) {
    const { sku } = before.item;
    try {
      changed(await api.put_item(sku, wish, before.tag));
      notices.done(look.say('settings.saved', { sku }));
    } catch (fault) {
      if (!is_refused_with(fault, 'precondition-failed')) throw fault;
      const now = await api.item(sku);
      if (Object.keys(changes_between(now.item, wish)).length > 0) {
        if (!is_here()) throw fault;
        conflict.value = { before, now, wish };
        return;
      }
      // It is as it was wished, as after a change whose answer was lost.
      changed(now);
      notices.done(look.say('settings.saved', { sku }));
    }
  }

  async function save(before: Seen, wish: Partial<Settings>) {
    refused.value = null;
    conflict.value = null;
    is_saving.value = true;
    try {
      await attempt(before, wish);
    } catch (fault) {
      refused.value = fault;
      if (!is_here()) {
        const [sku, why] = [before.item.sku, fault_text(look, fault)];
        notices.refused(look.say('settings.refused', { sku, why }));
      }
    } finally {
      is_saving.value = false;
    }
  }

  return {
    is_saving, refused, conflict, save,
    insist() {
      const met = conflict.value;
      if (met) void save(met.now, met.wish);
    },
    give_way() {
      if (conflict.value) changed(conflict.value.now);
      conflict.value = null;
    },
    put_off() {
      conflict.value = null;
    },
  };
}
