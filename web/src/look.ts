// SPDX-License-Identifier: Apache-2.0
// Language and colours: what the person chose, else what the browser asks for.
import { effect, signal, type Signal } from '@preact/signals';
import { en, type Dictionary, type Key } from './text/en';
import { zh } from './text/zh';

export type Language = 'en' | 'zh';
export type Theme = 'auto' | 'light' | 'dark';

export type Say = (key: Key, values?: Record<string, string | number>) => string;

export interface Look {
  readonly language: Signal<Language>;
  readonly theme: Signal<Theme>;
  readonly say: Say;
  number(value: number): string;
  signed(value: number): string;
  time(at: string | null | undefined): string;
  clock(at: Date): string;
  // A mark on a time axis: as much of the time as tells it from the next mark.
  mark(at: Date, step_seconds: number, span_seconds: number): string;
  duration(seconds: number): string;
}

const day_seconds = 86_400;

const dictionaries: Record<Language, Dictionary> = { en, zh };
const tags: Record<Language, string> = { en: 'en', zh: 'zh-CN' };

// What is written from right to left, or says so, keeps to itself: else the words and numbers
// around it would turn about as well (Unicode Standard Annex 9, first strong isolate).
const turns_about =
  /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/;

function isolated(text: string): string {
  return turns_about.test(text) ? `\u2068${text}\u2069` : text;
}

function wanted_language(storage: Storage, navigator: Navigator): Language {
  const kept = storage.getItem('holdfast.language');
  if (kept === 'en' || kept === 'zh') return kept;
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

function wanted_theme(storage: Storage): Theme {
  const kept = storage.getItem('holdfast.theme');
  return kept === 'light' || kept === 'dark' ? kept : 'auto';
}

export function create_look(storage: Storage, navigator: Navigator, root: HTMLElement): Look {
  const language = signal(wanted_language(storage, navigator));
  const theme = signal(wanted_theme(storage));
  effect(() => {
    storage.setItem('holdfast.language', language.value);
    root.lang = tags[language.value];
  });
  effect(() => {
    storage.setItem('holdfast.theme', theme.value);
    root.dataset['theme'] = theme.value;
  });

  const tag = () => tags[language.value];
  const say: Say = (key, values = {}) =>
    dictionaries[language.value][key].replace(/\{(\w+)\}/g, (_, name: string) =>
      isolated(String(values[name] ?? '')));
  return {
    language, theme, say,
    number: (value) => new Intl.NumberFormat(tag()).format(value),
    signed: (value) => new Intl.NumberFormat(tag(), { signDisplay: 'exceptZero' }).format(value),
    time: (at) =>
      at ? new Intl.DateTimeFormat(tag(), { dateStyle: 'medium', timeStyle: 'medium' })
        .format(new Date(at)) : '–',
    mark(at, step_seconds, span_seconds) {
      const day = { month: 'numeric', day: 'numeric' } as const;
      const minute = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
      const shown = step_seconds >= day_seconds ? day
        : span_seconds > day_seconds ? { ...day, ...minute }
          : step_seconds >= 60 ? minute : { ...minute, second: '2-digit' as const };
      return new Intl.DateTimeFormat(tag(), shown).format(at);
    },
    clock: (at) => new Intl.DateTimeFormat(tag(), { timeStyle: 'medium' }).format(at),
    duration(seconds) {
      if (seconds < 90) return say('seconds', { n: Math.round(seconds) });
      if (seconds < 5400) return say('minutes', { n: Math.round(seconds / 60) });
      if (seconds < 172_800) return say('hours', { n: Math.round(seconds / 3600) });
      return say('days', { n: Math.round(seconds / 86_400) });
    },
  };
}
