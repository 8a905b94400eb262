// SPDX-License-Identifier: Apache-2.0
// The rules an item is sold by: read from a form, compared, and said in words.
import type { Item, Settings, Strategy } from './api';
import type { Look } from './look';
import type { Key } from './text/en';

// What the reader calls each of them.
export const setting_titles: Readonly<Record<keyof Settings, Key>> = {
  name: 'name',
  on_sale: 'settings.on_sale',
  sale_starts_at: 'settings.starts',
  sale_ends_at: 'settings.ends',
  max_per_customer: 'settings.per_customer',
  low_stock_at: 'settings.low',
  strategy: 'settings.strategy',
  admission: 'settings.admission',
  admission_pool: 'settings.pool',
  admission_ttl_seconds: 'settings.token_seconds',
};

export const setting_names = Object.keys(setting_titles) as readonly (keyof Settings)[];

// "2026-11-30T04:00:00.000000Z" as a field for date and time has it, in the reader's own zone.
export function local_time(at: string | null): string {
  if (at === null) return '';
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

// The instant that such a field means, or null when it is empty.
export function instant_of(field: string): string | null {
  return field === '' ? null : new Date(field).toISOString();
}

// All but whether it is on sale, which has a button of its own.
export function settings_in(form: FormData): Partial<Settings> {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const number = (name: string) => (text(name) === '' ? null : Number(text(name)));
  const time = (name: string) => instant_of(text(name));
  return {
    name: text('name') || null,
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
export function changes_between(before: Settings, after: Partial<Settings>): Partial<Settings> {
  const changed = setting_names.filter((name) => {
    const [was, is] = [before[name], after[name]];
    if (is === undefined) return false;
    if (name === 'sale_starts_at' || name === 'sale_ends_at')
      return local_time(before[name]) !== local_time(after[name] ?? null);
    return was !== is;
  });
  return Object.fromEntries(changed.map((name) => [name, after[name]]));
}

export function setting_text(look: Look, settings: Settings, name: keyof Settings): string {
  const value = settings[name];
  if (name === 'sale_starts_at' || name === 'sale_ends_at') return look.time(settings[name]);
  if (name === 'admission') return look.say(value === 'token' ? 'yes' : 'no');
  if (name === 'strategy' && value === null) return look.say('settings.strategy_default');
  if (typeof value === 'boolean') return look.say(value ? 'yes' : 'no');
  if (typeof value === 'number') return look.number(value);
  return value ?? '–';
}

export type SalePhase = 'paused' | 'to_come' | 'running' | 'over';

export function sale_phase(item: Item, now: number): SalePhase {
  if (!item.on_sale) return 'paused';
  if (item.sale_starts_at !== null && now < Date.parse(item.sale_starts_at)) return 'to_come';
  if (item.sale_ends_at !== null && now >= Date.parse(item.sale_ends_at)) return 'over';
  return 'running';
}
