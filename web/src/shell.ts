// SPDX-License-Identifier: Apache-2.0
// What every screen may use. It is made once in main.tsx and handed down, so that a test can make
// its own.
import { createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import type { Api } from './api';
import { Outage, Refusal, Unaddressable, Unsettled } from './asking';
import type { Enterings } from './count_entering';
import type { Look } from './look';
import type { Notices } from './notices';
import type { Router } from './route';
import type { Session } from './session';
import { en, type Key } from './text/en';

export interface Shell {
  readonly session: Session;
  readonly api: Api;
  readonly router: Router;
  readonly look: Look;
  readonly notices: Notices;
  readonly enterings: Enterings;
}

export const ShellContext = createContext<Shell | null>(null);

export function use_shell(): Shell {
  const shell = useContext(ShellContext);
  if (!shell) throw new Error('a screen outside of the shell');
  return shell;
}

// Whether what asked is still on the screen when the answer comes. What it would have shown is said
// by a notice otherwise.
export function use_presence(): () => boolean {
  const is_here = useRef(true);
  useEffect(() => {
    is_here.current = true;
    return () => { is_here.current = false; };
  }, []);
  return () => is_here.current;
}

// What a code of the service means; its own words where there is no sentence for it.
export function refusal_text(look: Look, code: string, detail: string): string {
  const key = `code.${code}`;
  return key in en ? look.say(key as Key) : detail;
}

// Why something was refused, in the reader's language where there is a sentence for it.
export function fault_text(look: Look, fault: unknown): string {
  if (fault instanceof Unsettled)
    return look.say(fault.may_repeat ? 'fault.unsettled' : 'fault.unsettled_look');
  if (fault instanceof Outage) return look.say('fault.outage');
  if (fault instanceof Unaddressable) return look.say('fault.unaddressable');
  if (!(fault instanceof Refusal)) return look.say('fault.unexpected', { what: String(fault) });
  const { code, detail, errors, on_hand, request_id, retry_after } = fault.problem;
  const known = refusal_text(look, code, detail);
  const parts = [known];
  if (on_hand !== undefined) parts.push(look.say('fault.on_hand', { n: look.number(on_hand) }));
  if (errors?.length)
    parts.push(errors.slice(0, 5).map((e) => `${e.pointer}: ${e.detail}`).join('; '));
  else if (code === 'rate-limited' && retry_after !== undefined)
    parts.push(look.say('fault.wait', { time: look.duration(retry_after) }));
  else if (known !== detail && on_hand === undefined && look.language.value === 'en')
    parts.push(detail);
  if (fault.problem.status >= 500 && request_id)
    parts.push(look.say('fault.request', { id: request_id }));
  return parts.join(' ');
}

export function use_title(title: string | null) {
  useEffect(() => {
    document.title = title === null ? 'Holdfast' : `${title} · Holdfast`;
  }, [title]);
}
