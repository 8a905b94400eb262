// SPDX-License-Identifier: Apache-2.0
// Whether an item is sold now, and the button that stops it, for which there may be little time.
import { useMemo } from 'preact/hooks';
import type { Item } from '../api';
import { sale_phase, type SalePhase } from '../item_settings';
import { create_settings_saving, type Seen } from '../settings_saving';
import { fault_text, use_presence, use_shell } from '../shell';
import type { Key } from '../text/en';
import { SettingsConflict } from './settings_conflict';

const sentences: Record<SalePhase, Key> = {
  paused: 'sale.paused', to_come: 'sale.to_come', running: 'sale.running_until', over: 'sale.over',
};

function sentence_of(item: Item): Key {
  const phase = sale_phase(item, Date.now());
  return phase === 'running' && item.sale_ends_at === null ? 'sale.running' : sentences[phase];
}

export function SaleSwitch({ seen, changed }: { seen: Seen; changed: (now: Seen) => void }) {
  const shell = use_shell();
  const { look, session } = shell;
  const { item } = seen;
  const is_here = use_presence();
  const saving = useMemo(() => create_settings_saving(shell, changed, is_here),
    [item.sku]);
  return (
    <>
      <div class="actions">
        <span>
          {look.say(sentence_of(item), {
            starts: look.time(item.sale_starts_at), ends: look.time(item.sale_ends_at),
          })}
        </span>
        {session.may('settings') && (
          <button type="button" class={item.on_sale ? 'grave' : 'main'}
            aria-disabled={saving.is_saving.value}
            onClick={({ detail: clicks }) => {
              // The second of two clicks would undo what the first has done.
              if (clicks > 1 || saving.is_saving.value) return;
              void saving.save(seen, { on_sale: !item.on_sale });
            }}>
            {look.say(item.on_sale ? 'sale.pause' : 'sale.resume')}
          </button>
        )}
      </div>
      {saving.refused.value !== null && (
        <p class="failed" role="alert">{fault_text(look, saving.refused.value)}</p>
      )}
      <SettingsConflict saving={saving} />
    </>
  );
}
