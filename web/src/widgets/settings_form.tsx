// SPDX-License-Identifier: Apache-2.0
// The rules an item is sold by: to be changed, or to be read by those who may not.
import { useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Item, Strategy } from '../api';
import {
  changes_between, local_time, setting_names, setting_text, setting_titles, settings_in,
} from '../item_settings';
import { create_settings_saving, type Seen } from '../settings_saving';
import { fault_text, use_presence, use_shell } from '../shell';
import { Check, Choice, Field, Option } from './field';
import { use_named_faults } from './named_faults';
import { SettingsConflict } from './settings_conflict';

const strategies: readonly Strategy[] = ['batched', 'conditional_update', 'optimistic', 'row_lock'];

export function SettingsList({ item }: { item: Item }) {
  const { look } = use_shell();
  return (
    <dl class="pairs">
      {setting_names.map((name) => (
        <div key={name}>
          <dt>{look.say(setting_titles[name])}</dt><dd>{setting_text(look, item, name)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Fields({ item }: { item: Item }) {
  const { look } = use_shell();
  const zone = look.say('settings.zone', {
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  });
  return (
    <>
      <Field label={look.say('name')} name="name" maxLength={200} defaultValue={item.name ?? ''} />
      <Field label={look.say('settings.starts')} name="sale_starts_at" type="datetime-local"
        step={1} defaultValue={local_time(item.sale_starts_at)} hint={zone} />
      <Field label={look.say('settings.ends')} name="sale_ends_at" type="datetime-local"
        step={1} defaultValue={local_time(item.sale_ends_at)} hint={zone} />
      <Field label={look.say('settings.per_customer')} name="max_per_customer" type="number"
        min={1} defaultValue={item.max_per_customer?.toString() ?? ''}
        hint={look.say('settings.per_customer_hint')} />
      <Field label={look.say('settings.low')} name="low_stock_at" type="number" min={0}
        defaultValue={item.low_stock_at?.toString() ?? ''} />
      <Choice label={look.say('settings.strategy')} name="strategy">
        <Option value="" is_default={item.strategy === null}>
          {look.say('settings.strategy_default')}
        </Option>
        {strategies.map((one) => (
          <Option key={one} value={one} is_default={item.strategy === one}>{one}</Option>
        ))}
      </Choice>
      <Check label={look.say('settings.admission')} name="admission"
        defaultChecked={item.admission === 'token'} />
      <Field label={look.say('settings.pool')} name="admission_pool" type="number" min={1}
        max={1_000_000} required defaultValue={String(item.admission_pool)} />
      <Field label={look.say('settings.token_seconds')} name="admission_ttl_seconds" min={1}
        type="number" max={86_400} required defaultValue={String(item.admission_ttl_seconds)} />
    </>
  );
}

// Gives back to a field what the item has.
function refill(field: Element) {
  if (field instanceof HTMLInputElement && field.type === 'checkbox')
    field.checked = field.defaultChecked;
  else if (field instanceof HTMLInputElement) field.value = field.defaultValue;
  else if (field instanceof HTMLSelectElement)
    for (const option of field.options) option.selected = option.defaultSelected;
}

// When the settings become others, fields that want nothing else follow. The browser does that only
// for those nobody ever typed into.
function use_following(form: { current: HTMLFormElement | null }, { item, tag }: Seen) {
  const filled_from = useRef(item);
  useLayoutEffect(() => {
    if (!form.current) return;
    const wish = changes_between(filled_from.current, settings_in(new FormData(form.current)));
    filled_from.current = item;
    for (const field of form.current.elements)
      if (!((field as HTMLInputElement).name in wish)) refill(field);
  }, [tag]);
}

export function SettingsForm({ seen, changed }: { seen: Seen; changed: (now: Seen) => void }) {
  const shell = use_shell();
  const { look } = shell;
  const form = useRef<HTMLFormElement>(null);
  const is_here = use_presence();
  const saving = useMemo(() => create_settings_saving(shell, changed, is_here),
    [seen.item.sku]);
  const is_saving = saving.is_saving.value;
  const id = useId();
  use_following(form, seen);
  use_named_faults(form, saving.refused.value, id);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (is_saving || !form.current) return;
    const typed = settings_in(new FormData(form.current));
    void saving.save(seen, changes_between(seen.item, typed));
  };
  return (
    <>
      <form ref={form} class="columns" onSubmit={submit}>
        <Fields item={seen.item} />
        {saving.refused.value !== null && (
          <p id={id} class="failed" role="alert">{fault_text(look, saving.refused.value)}</p>
        )}
        <div class="actions">
          <button type="submit" class="main" aria-disabled={is_saving}>
            {look.say(is_saving ? 'saving' : 'save')}
          </button>
          <button type="reset">{look.say('settings.reset')}</button>
        </div>
      </form>
      <SettingsConflict saving={saving} gave_way={() => form.current?.reset()} />
    </>
  );
}
