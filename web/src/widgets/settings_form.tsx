// SPDX-License-Identifier: Apache-2.0
// The rules an item is sold by. They are saved only while they are what was shown here; what
// somebody else changed meanwhile is shown, not overwritten.
import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Item, Settings, Strategy } from '../api';
import { is_refused_with } from '../asking';
import { fault_text, use_shell } from '../shell';
import { Check, Choice, Field } from './field';

const strategies: readonly Strategy[] = ['batched', 'conditional_update', 'optimistic', 'row_lock'];

// "2026-11-30T04:00:00.000000Z" as a field for date and time has it, in the reader's own zone.
export function local_time(at: string | null): string {
  if (at === null) return '';
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function settings_in(form: FormData): Settings {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const number = (name: string) => (text(name) === '' ? null : Number(text(name)));
  const time = (name: string) => (text(name) === '' ? null : new Date(text(name)).toISOString());
  return {
    name: text('name') || null,
    on_sale: form.get('on_sale') !== null,
    sale_starts_at: time('sale_starts_at'),
    sale_ends_at: time('sale_ends_at'),
    max_per_customer: number('max_per_customer'),
    low_stock_at: number('low_stock_at'),
    strategy: (text('strategy') || null) as Strategy | null,
    admission: form.get('admission') === null ? null : 'token',
    admission_pool: number('admission_pool') ?? 100,
    admission_ttl_seconds: number('admission_ttl_seconds') ?? 300,
  };
}

// Only what differs, so that microseconds a field cannot hold are not rounded away.
export function changes_between(item: Item, now: Settings): Partial<Settings> {
  const changed = (Object.keys(now) as (keyof Settings)[]).filter((name) => {
    if (name === 'sale_starts_at' || name === 'sale_ends_at')
      return local_time(item[name]) !== local_time(now[name]);
    return item[name] !== now[name];
  });
  return Object.fromEntries(changed.map((name) => [name, now[name]]));
}

type Saved = { item: Item; tag: string };

export function SettingsForm({ item, tag, changed }: {
  item: Item;
  tag: string;
  changed: (now: Saved) => void;
}) {
  const { api, look, notices } = use_shell();
  const refused = useMemo(() => signal<string | null>(null), []);
  const is_saving = useMemo(() => signal(false), []);

  const save = async (form: HTMLFormElement) => {
    const change = changes_between(item, settings_in(new FormData(form)));
    refused.value = null;
    is_saving.value = true;
    try {
      changed(await api.put_item(item.sku, change, tag));
      notices.done(look.say('settings.saved', { sku: item.sku }));
    } catch (fault) {
      refused.value = fault_text(look, fault);
      if (is_refused_with(fault, 'precondition-failed')) {
        const why = look.say('settings.changed_meanwhile');
        notices.refused(why);
        const now = await api.item(item.sku).catch(() => null);
        if (now) changed(now);
      }
    } finally {
      is_saving.value = false;
    }
  };
  return (
    <section aria-labelledby="settings">
      <h2 id="settings">{look.say('settings.title')}</h2>
      <form class="columns" onSubmit={(event) => {
        event.preventDefault();
        void save(event.currentTarget);
      }}>
        <Field label={look.say('name')} name="name" maxLength={200}
          defaultValue={item.name ?? ''} />
        <Check label={look.say('settings.on_sale')} name="on_sale" defaultChecked={item.on_sale} />
        <Field label={look.say('settings.starts')} name="sale_starts_at" type="datetime-local"
          step={1} defaultValue={local_time(item.sale_starts_at)} />
        <Field label={look.say('settings.ends')} name="sale_ends_at" type="datetime-local"
          step={1} defaultValue={local_time(item.sale_ends_at)} />
        <Field label={look.say('settings.per_customer')} name="max_per_customer" type="number"
          min={1} defaultValue={item.max_per_customer?.toString() ?? ''}
          hint={look.say('settings.per_customer_hint')} />
        <Field label={look.say('settings.low')} name="low_stock_at" type="number" min={0}
          defaultValue={item.low_stock_at?.toString() ?? ''} />
        <Choice label={look.say('settings.strategy')} name="strategy">
          <option value="" selected={item.strategy === null}>
            {look.say('settings.strategy_default')}
          </option>
          {strategies.map((one) => (
            <option key={one} value={one} selected={item.strategy === one}>{one}</option>
          ))}
        </Choice>
        <Check label={look.say('settings.admission')} name="admission"
          defaultChecked={item.admission === 'token'} />
        <Field label={look.say('settings.pool')} name="admission_pool" type="number" min={1}
          max={1_000_000} required defaultValue={String(item.admission_pool)} />
        <Field label={look.say('settings.token_seconds')} name="admission_ttl_seconds" min={1}
          type="number" max={86_400} required defaultValue={String(item.admission_ttl_seconds)} />
        {refused.value && <p class="failed" role="alert">{refused.value}</p>}
        <div class="actions">
          <button type="submit" class="main" disabled={is_saving.value}>
            {look.say(is_saving.value ? 'saving' : 'save')}
          </button>
          <button type="reset">{look.say('settings.reset')}</button>
        </div>
      </form>
    </section>
  );
}
