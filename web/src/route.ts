// SPDX-License-Identifier: Apache-2.0
// Where one is, and the filters there: #/stock?q=tee. All of it is in the address, so it can be
// sent to a colleague, and the browser's back button means what it says.
import { signal, type ReadonlySignal } from '@preact/signals';

export interface Place {
  readonly path: readonly string[]; // decoded: ["stock", "TEE/M"]
  readonly query: Readonly<Record<string, string>>;
}

export interface Router {
  readonly place: ReadonlySignal<Place>;
  go(to: string): void;
  // Changes filters of the present place without a step of the back button.
  filter(change: Record<string, string>): void;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function place_of(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return {
    path: path.split('/').filter((part) => part !== '').map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

export interface Invitation {
  readonly token: string;
  readonly is_for: 'account' | 'password';
}

// The token of a link that makes somebody staff, or sets the password of somebody who is. It is all
// there is behind its #: #first=… or #password=…
export function invitation_at({ path }: Place): Invitation | null {
  const [what = '', token] = (path[0] ?? '').split('=', 2);
  if (token === undefined || (what !== 'first' && what !== 'password')) return null;
  return { token, is_for: what === 'first' ? 'account' : 'password' };
}

// The whole address of the latter kind, to be handed over.
export function password_link(page: Location, token: string): string {
  return `${page.origin}${page.pathname}#password=${token}`;
}

export function address_of(path: readonly string[], query: Record<string, string> = {}): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== '') parts.set(name, value);
  const text = parts.toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

export function create_router(window: Window): Router {
  const place = signal(place_of(window.location.hash));
  window.addEventListener('hashchange', () => {
    place.value = place_of(window.location.hash);
  });
  return {
    place,
    go(to) {
      window.location.hash = to;
    },
    filter(change) {
      const query = { ...place.value.query, ...change };
      const address = address_of(place.value.path, query);
      window.history.replaceState(null, '', address);
      place.value = place_of(address);
    },
  };
}
