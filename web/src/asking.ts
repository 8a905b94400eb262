// SPDX-License-Identifier: Apache-2.0
// How the service is asked: what goes along with a request, and what becomes of an answer that is
// no, or of none.
import type { Caller, Session } from './session';

export interface Problem {
  status: number;
  code: string;
  detail: string;
  request_id?: string;
  errors?: { pointer: string; detail: string; code?: string; row?: number; column?: string }[];
  on_hand?: number;
  reasons?: string[];
  retry_after?: number; // seconds
}

// The service answered, and the answer is no.
export class Refusal extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

// No answer came: the network, or something in front of the service.
export class Outage extends Error {}

export function is_refused_with(fault: unknown, code: string): boolean {
  return fault instanceof Refusal && fault.problem.code === code;
}

// Whether the service finds fault with one member of what was sent: "/name".
export function is_fault_of(fault: unknown, pointer: string): boolean {
  return fault instanceof Refusal &&
    (fault.problem.errors ?? []).some((error) => error.pointer === pointer);
}

// Whether a request under its Idempotency-Key may be sent again, and would find what it did.
function is_worth_repeating(fault: unknown): boolean {
  if (fault instanceof Outage) return true;
  if (!(fault instanceof Refusal)) return false;
  return fault.problem.status === 503 || fault.problem.code === 'idempotency-key-in-progress';
}

// crypto.randomUUID is only there over https; this is everywhere.
export function new_key(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

export interface Asked {
  method?: string;
  json?: unknown;
  csv?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

const tries_max = 4;
const pause_ms = 700;

async function problem_of(answer: Response): Promise<Problem> {
  const wait = Number(answer.headers.get('Retry-After') ?? NaN);
  const nothing: Problem = {
    status: answer.status,
    code: answer.status === 503 ? 'overloaded' : 'internal',
    detail: `${answer.status} ${answer.statusText}`,
    ...(Number.isFinite(wait) ? { retry_after: wait } : {}),
  };
  if (!(answer.headers.get('Content-Type') ?? '').includes('json')) return nothing;
  try {
    return { ...nothing, ...((await answer.json()) as Problem) };
  } catch {
    return nothing;
  }
}

function request_of(asked: Asked, session: Session): RequestInit {
  const method = asked.method ?? 'GET';
  const headers = new Headers(asked.headers);
  if (method !== 'GET') session.vouch(headers);
  let body: BodyInit | null = null;
  if (asked.json !== undefined) {
    headers.set('Content-Type', 'application/json');
    body = JSON.stringify(asked.json);
  } else if (asked.csv) {
    headers.set('Content-Type', 'text/csv');
    body = asked.csv;
  }
  return { method, headers, body, cache: 'no-store', signal: asked.signal ?? null };
}

export function create_asker(session: Session) {
  async function ask(path: string, asked: Asked = {}): Promise<Response> {
    let answer: Response;
    try {
      answer = await fetch(path, request_of(asked, session));
    } catch (fault) {
      if (fault instanceof DOMException && fault.name === 'AbortError') throw fault;
      throw new Outage(String(fault));
    }
    if (answer.ok) return answer;
    const problem = await problem_of(answer);
    if (session.caller.value) doubt(problem.status);
    throw new Refusal(problem);
  }

  // Somebody who is refused is perhaps no longer who this page takes him for: another role, or
  // signed in anew in another tab.
  function doubt(status: number) {
    if (status === 401) session.end('refused');
    if (status === 403) void find_caller().catch(() => undefined); // as is known, for now
  }

  async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
    return (await (await ask(path, { signal })).json()) as T;
  }

  async function send<T>(method: string, path: string, json?: unknown): Promise<T> {
    const answer = await ask(path, { method, json });
    return (answer.status === 204 ? undefined : await answer.json()) as T;
  }

  // The same key every time, so what was done is not done again.
  async function once<T>(path: string, asked: Asked, key = new_key()): Promise<T> {
    const headers = { 'Idempotency-Key': key };
    for (let tried = 1; ; ++tried) {
      try {
        return (await (await ask(path, { method: 'POST', ...asked, headers })).json()) as T;
      } catch (fault) {
        if (tried === tries_max || !is_worth_repeating(fault)) throw fault;
        await new Promise((resolve) => setTimeout(resolve, pause_ms * tried));
      }
    }
  }

  // Opens the session of whoever the browser's cookie stands for; false when it is nobody.
  async function find_caller(signal?: AbortSignal): Promise<boolean> {
    try {
      session.open(await read<Caller>('/v1/session', signal));
      return true;
    } catch (fault) {
      if (is_refused_with(fault, 'unauthenticated')) return false;
      throw fault;
    }
  }

  return { ask, read, send, once, find_caller };
}
