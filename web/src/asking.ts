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

// Something was to be changed, and no answer tells whether it was. `may_repeat`: sent again, it is
// done once all the same.
export class Unsettled extends Error {
  constructor(readonly may_repeat: boolean) {
    super('it is not known whether this was done');
  }
}

// Browsers take "." and ".." in an address, however they are written, for steps in it (WHATWG URL,
// section 4.4): what has such a name would be asked for as something else.
export class Unaddressable extends Error {}

function is_step(part: string): boolean {
  return part === '.' || part === '..';
}

export function is_refused_with(fault: unknown, code: string): boolean {
  return fault instanceof Refusal && fault.problem.code === code;
}

// Whether the service finds fault with one member of what was sent: "/name".
export function is_fault_of(fault: unknown, pointer: string): boolean {
  return fault instanceof Refusal &&
    (fault.problem.errors ?? []).some((error) => error.pointer === pointer);
}

// Whether what was asked for may have been done for all this answer says.
function leaves_open(fault: unknown): boolean {
  if (fault instanceof Outage) return true;
  if (!(fault instanceof Refusal)) return false;
  return fault.problem.status === 503 || fault.problem.code === 'idempotency-key-in-progress';
}

// Whether it also tells that no attempt before it was carried out. Who asks, and how often, is
// looked at before what is asked for.
function is_settled_by(fault: unknown): boolean {
  if (leaves_open(fault)) return false;
  return fault instanceof Refusal && ![401, 403, 429, 500].includes(fault.problem.status);
}

const hex = (bytes: Uint8Array) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

// crypto.randomUUID is only there over https; this is everywhere.
export function new_key(): string {
  return `page-${hex(crypto.getRandomValues(new Uint8Array(16)))}`;
}

// The same key whenever the content is the same; none where the browser does not reckon digests,
// which is where nobody can sign in either.
export async function key_of(content: Blob): Promise<string | undefined> {
  const digest = await crypto.subtle?.digest('SHA-256', await content.arrayBuffer());
  return digest && `page-file-${hex(new Uint8Array(digest))}`;
}

export interface Asked {
  method?: string;
  json?: unknown;
  csv?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

// What came of a request under a key; known: it had been done before the first attempt.
export interface Known<T> {
  readonly found: T;
  readonly is_known: boolean;
}

const tries_max = 4;
const pause_ms = 700;
// Proxies in front of a service that is away answer so, in words of their own.
const statuses_of_proxies = [502, 503, 504];
// What is typed once more so long after is meant anew; the service keeps keys far longer. A file
// that is still at hand is meant for as long as it is.
const same_wish_ms = 15 * 60_000;

async function problem_of(answer: Response): Promise<Problem> {
  const wait = Number(answer.headers.get('Retry-After') ?? NaN);
  const nothing: Problem = {
    status: answer.status,
    code: answer.status === 503 ? 'overloaded' : 'internal',
    detail: `${answer.status} ${answer.statusText}`,
    ...(Number.isFinite(wait) ? { retry_after: wait } : {}),
  };
  try {
    if ((answer.headers.get('Content-Type') ?? '').includes('json'))
      return { ...nothing, ...((await answer.json()) as Problem) };
  } catch {
    // As if it had said nothing.
  }
  if (statuses_of_proxies.includes(answer.status)) throw new Outage(nothing.detail);
  return nothing;
}

// Keys of what may have been done already, so that whoever sends the same again does it once.
function create_key_ring() {
  const kept = new Map<string, { key: string; at: number; file: Blob | undefined }>();
  const mark_of = (path: string, { method, json }: Asked) =>
    `${method ?? 'POST'} ${path} ${JSON.stringify(json)}`;
  return {
    key_of(path: string, asked: Asked): string | undefined {
      const known = kept.get(mark_of(path, asked));
      if (!known || known.file !== asked.csv) return undefined;
      return asked.csv || known.at > Date.now() - same_wish_ms ? known.key : undefined;
    },
    keep(path: string, asked: Asked, key: string) {
      kept.set(mark_of(path, asked), { key, at: Date.now(), file: asked.csv });
    },
    drop(path: string, asked: Asked) {
      kept.delete(mark_of(path, asked));
    },
  };
}

async function content_of<T>(answer: Response): Promise<T> {
  if (answer.status === 204) return undefined as T;
  try {
    return (await answer.json()) as T;
  } catch (fault) {
    throw as_outage(fault); // it broke off
  }
}

// What is not wanted any more is no outage.
function as_outage(fault: unknown): unknown {
  return fault instanceof DOMException && fault.name === 'AbortError' ? fault
    : new Outage(String(fault));
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

// Does something to the service, and tells when it is not known whether it was done.
export async function told<T>(may_repeat: boolean, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (fault) {
    throw leaves_open(fault) ? new Unsettled(may_repeat) : fault;
  }
}

export function create_asker(session: Session) {
  const keys = create_key_ring();

  async function ask(path: string, asked: Asked = {}): Promise<Response> {
    if (path.split(/[/?]/).some(is_step)) throw new Unaddressable(path);
    let answer: Response;
    try {
      answer = await fetch(path, request_of(asked, session));
    } catch (fault) {
      throw as_outage(fault);
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
    return content_of<T>(await ask(path, { signal }));
  }

  async function send<T>(method: string, path: string, json?: unknown): Promise<T> {
    return content_of<T>(await ask(path, { method, json }));
  }

  // Sends what may be sent again when nobody knows what became of it: the service finds it done, or
  // does it now.
  const alter = <T>(method: string, path: string, json?: unknown) =>
    told(true, () => send<T>(method, path, json));

  // Sends what makes one more each time.
  const make = <T>(path: string, json: unknown) =>
    told(false, () => send<T>('POST', path, json));

  // What is gone already is gone.
  async function remove(path: string): Promise<void> {
    try {
      await alter<void>('DELETE', path);
    } catch (fault) {
      if (!is_refused_with(fault, 'not-found')) throw fault;
    }
  }

  // Sends under a key, by which the service knows what it did already: the same for every attempt,
  // and for the same wish sent once more after all attempts came to nothing.
  async function once_or_known<T>(
    path: string, asked: Asked, named?: string,
  ): Promise<Known<T>> {
    const left_open = keys.key_of(path, asked);
    const key = named ?? left_open ?? new_key();
    let is_open = key === left_open; // whether it may have been done by an attempt of this page
    const headers = { 'Idempotency-Key': key };
    for (let tried = 1; ; ++tried) {
      try {
        const answer = await ask(path, { method: 'POST', ...asked, headers });
        const found = await content_of<T>(answer);
        keys.drop(path, asked);
        return { found, is_known: !is_open && answer.headers.has('Idempotent-Replayed') };
      } catch (fault) {
        if (is_settled_by(fault)) keys.drop(path, asked);
        else if (is_open && !leaves_open(fault)) throw new Unsettled(true);
        if (!leaves_open(fault)) throw fault;
        is_open = true;
        keys.keep(path, asked, key);
        if (tried === tries_max) throw new Unsettled(true);
        await new Promise((resolve) => setTimeout(resolve, pause_ms * tried));
      }
    }
  }

  const once = async <T>(path: string, asked: Asked, key?: string): Promise<T> =>
    (await once_or_known<T>(path, asked, key)).found;

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

  return { ask, read, send, alter, make, remove, once, once_or_known, find_caller };
}
