// SPDX-License-Identifier: Apache-2.0
// The HTTP API as this page uses it. The types follow /openapi.json by hand; what the page does not
// read is left out.
import { create_asker, key_of, new_key, Outage, Refusal, told } from './asking';
import type { Session } from './session';

export type Strategy = 'batched' | 'conditional_update' | 'optimistic' | 'row_lock';
export type Reason =
  | 'received' | 'damaged' | 'lost' | 'found' | 'correction' | 'count' | 'returned' | 'sample'
  | 'other';
export const reasons: readonly Reason[] = [
  'count', 'received', 'correction', 'damaged', 'lost', 'found', 'returned', 'sample', 'other',
];

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

export interface Level {
  location: string;
  on_hand: number;
  reserved: number;
  available: number;
  version: number;
  short?: number;
}

export interface Settings {
  name: string | null;
  on_sale: boolean;
  sale_starts_at: string | null;
  sale_ends_at: string | null;
  max_per_customer: number | null;
  low_stock_at: number | null;
  strategy: Strategy | null;
  admission: 'token' | null;
  admission_pool: number;
  admission_ttl_seconds: number;
}

export interface Item extends Settings {
  sku: string;
  on_hand: number;
  reserved: number;
  available: number;
  levels: Level[];
}

export type MovementKind =
  | 'received' | 'adjusted' | 'counted' | 'reserved' | 'confirmed' | 'released' | 'expired'
  | 'returned';

export interface Movement {
  id: string;
  kind: MovementKind;
  reason: Reason | 'transferred' | 'undone' | null;
  on_hand_delta: number;
  reserved_delta: number;
  on_hand: number;
  reserved: number;
  version: number;
  sku: string;
  location: string;
  reservation_id: string | null;
  actor: string;
  note: string | null;
  reference: string | null;
  at: string;
}

export interface Hold {
  reservation_id: string;
  quantity: number;
  expires_at: string;
  customer: string | null;
  reference: string | null;
}

export interface LevelExplanation extends Level {
  brought_forward: { version: number; on_hand: number } | null;
  sums: {
    kind: MovementKind;
    reason: Movement['reason'];
    movements: number;
    on_hand_delta: number;
  }[];
  holds: Hold[];
  more_holds: { count: number; quantity: number } | null;
}

export interface Adjust {
  set_to: number;
  expect_on_hand: number | null;
  location: string;
  reason: Reason;
  note?: string;
  allow_short?: boolean;
}

export interface Adjustment {
  movement: Movement;
  level: Level;
  holds?: Hold[];
}

export type State = 'held' | 'confirmed' | 'released' | 'expired';
export const states: readonly State[] = ['held', 'confirmed', 'released', 'expired'];

export interface Line {
  sku: string;
  location: string;
  quantity: number;
  confirmed: number;
  returned: number;
}

// A pending or refused one lacks what it has not come to.
export interface Reservation {
  id: string;
  state: State | 'pending' | 'refused';
  lines?: Line[];
  customer?: string | null;
  reference?: string | null;
  created_at?: string;
  expires_at?: string | null;
  confirmed_at?: string | null;
  released_at?: string | null;
  expired_at?: string | null;
  supersedes?: string | null;
  superseded_by?: string | null;
  metadata?: Record<string, unknown>;
  code?: string;
  detail?: string;
  note?: string;
}

export const event_types = [
  'reservation.held', 'reservation.confirmed', 'reservation.released', 'reservation.expired',
  'reservation.returned', 'stock.adjusted', 'stock.low', 'stock.sold_out', 'stock.back_in_stock',
  'stock.drift',
] as const;
export type EventType = (typeof event_types)[number];

export interface StockEvent {
  id: string;
  type: EventType;
  occurred_at: string;
  sku: string;
  location: string;
  version: number;
  on_hand: number;
  reserved: number;
  available: number;
  quantity: number | null;
}

export type ImportMode = 'set' | 'add' | 'count';
export const import_modes: readonly ImportMode[] = ['set', 'add', 'count'];

export interface ImportDifference {
  row: number;
  sku: string;
  location: string;
  on_hand_before: number;
  on_hand_after: number;
  short: number;
  created: boolean;
  settings: (keyof Settings)[];
}

export interface ImportResult {
  id: string | null; // of one that was applied
  mode: ImportMode;
  dry_run: boolean;
  rows: number;
  created: number;
  changed: number;
  unchanged: number;
  differences: ImportDifference[];
  undone_at: string | null; // of one that was applied before
}

export interface PastImport {
  id: string;
  mode: ImportMode;
  actor: string;
  at: string;
  rows: number;
  created: number;
  changed: number;
  unchanged: number;
  undone_by: string | null;
  undone_at: string | null;
}

export interface ShownImport extends PastImport {
  kept_back: { sku: string; settings: (keyof Settings)[] }[];
  superseded: { row: number; sku: string; location: string }[];
}

export interface StockCount {
  id: string;
  name: string;
  location: string;
  sku_prefix: string | null;
  note: string | null;
  state: 'open' | 'applied' | 'cancelled';
  opened_by: string;
  opened_at: string;
  closed_by: string | null;
  closed_at: string | null;
  entry_count: number;
  difference_count: number;
}

export interface CountEntry {
  sku: string;
  quantity: number;
  on_hand: number; // when it was counted
  difference: number;
  counted_at: string;
  actor: string;
  outdated: boolean;
  version: number | null;
  on_hand_after: number;
  reserved: number;
  short: number;
  holds: Hold[];
}

export interface ShownCount extends StockCount {
  skus: string[] | null;
  entries: CountEntry[];
  uncounted: string[];
}

export interface CountDraft {
  name: string;
  location: string;
  sku_prefix?: string;
  skus?: string[];
  note: string | null;
}

export interface Counted {
  sku: string;
  quantity: number | null; // null takes the entry back
  counted_at?: string;
}

export interface LowItem {
  sku: string;
  name: string | null;
  low_stock_at: number;
  on_hand: number;
  reserved: number;
  available: number;
}

export interface OldHold extends Hold {
  created_at: string;
  lines: number;
}

export interface MovementSum {
  sku: string | null;
  kind: MovementKind;
  reason: Movement['reason'];
  movements: number;
  on_hand_delta: number;
  reserved_delta: number;
}

export interface Webhook {
  id: string;
  url: string;
  types: EventType[] | null;
  sku_prefix: string | null;
  description: string | null;
  state: 'active' | 'paused' | 'disabled';
  disabled_reason: string | null;
  created_at: string;
  secret?: string;
}

export interface WebhookDraft {
  url: string;
  types: EventType[] | null;
  sku_prefix: string | null;
  description: string | null;
}

export type DeliveryState = 'pending' | 'delivered' | 'dead';
export const delivery_states: readonly DeliveryState[] = ['pending', 'delivered', 'dead'];

export interface Delivery {
  id: string;
  event_type: string;
  sku: string | null;
  state: DeliveryState;
  attempts: number;
  next_attempt_at: string | null;
  last_attempt_at: string | null;
  last_status: number | null;
  last_fault: string | null;
  created_at: string;
  settled_at: string | null;
}

export interface Difference {
  sku: string;
  location: string | null;
  kind: 'available' | 'pending' | 'ledger' | 'not-loaded' | 'stopped';
  expected: number;
  found: number;
  cause: string;
}

export interface Drift extends Difference {
  id: string;
  repaired: boolean;
  at: string;
}

export interface BlockedCustomer {
  customer: string;
  reason: string;
  actor: string;
  blocked_at: string;
}

export interface TrailEntry {
  id: string;
  at: string;
  actor: string;
  action: string;
  subject: string;
  detail: Record<string, unknown>;
  request_id: string | null;
}

export interface Audit {
  ok: boolean;
  checked: number;
  violations: { check: string; sku: string; location: string; detail: string }[];
}

export type StaffRole = 'viewer' | 'clerk' | 'manager' | 'owner';
export const staff_roles: readonly StaffRole[] = ['viewer', 'clerk', 'manager', 'owner'];

export interface StaffAccount {
  id: string;
  name: string;
  role: StaffRole;
  created_at: string;
  disabled_at: string | null;
  revision: number;
}

export interface StaffChange {
  role?: StaffRole;
  disabled?: boolean;
  expect_revision: number;
}

export type KeyRole = 'viewer' | 'shop' | 'admin';
export const key_roles: readonly KeyRole[] = ['viewer', 'shop', 'admin'];

export interface ApiKey {
  id: string;
  name: string;
  role: KeyRole;
  created_at: string;
  revoked_at: string | null;
  key?: string; // when it is made, and never again
}

// Something between here and the service may take the tag away. Without one nothing is known of
// what is there, so it has to match nothing.
function tag_of(answer: Response): string {
  return answer.headers.get('ETag') ?? '"none"';
}

type Query = Record<string, string | number | boolean | null | undefined>;

// A filter that is empty is left out: the service refuses it.
function query_of(query: Query): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== '' && value !== false)
      parts.set(name, String(value));
  const text = parts.toString();
  return text === '' ? '' : `?${text}`;
}

export type Api = ReturnType<typeof create_api>;

export function create_api(session: Session) {
  const { ask, read, send, alter, make, remove, once, once_or_known, find_caller } =
    create_asker(session);

  const at = encodeURIComponent;
  return {
    find_caller,
    // False when the browser did not keep the cookie it was given.
    async sign_in(name: string, password: string): Promise<boolean> {
      await send<void>('POST', '/v1/session', { name, password });
      return find_caller();
    },
    async sign_out(): Promise<void> {
      await send<void>('DELETE', '/v1/session');
      session.end('signed_out');
    },
    redeem: (token: string, name: string | null, password: string) =>
      make<StaffAccount>('/v1/staff/first',
        { token, password, ...(name === null ? {} : { name }) }),

    items: (query: { q?: string; low?: boolean; limit?: number; cursor?: string | null },
            signal?: AbortSignal) => read<Page<Item>>(`/v1/stock${query_of(query)}`, signal),
    async item(sku: string, signal?: AbortSignal): Promise<{ item: Item; tag: string }> {
      const answer = await ask(`/v1/stock/${at(sku)}`, { signal });
      return { item: (await answer.json()) as Item, tag: tag_of(answer) };
    },
    // Only while the settings are those of the tag.
    async put_item(sku: string, settings: Partial<Settings>, tag: string) {
      const answer = await told(true, () => ask(`/v1/stock/${at(sku)}`, {
        method: 'PUT', json: settings, headers: { 'If-Match': tag },
      }));
      return { item: (await answer.json()) as Item, tag: tag_of(answer) };
    },
    adjust: (sku: string, command: Adjust) =>
      once<Adjustment>(`/v1/stock/${at(sku)}/adjustments`, { json: command }),
    movements: (sku: string, cursor: string | null, limit: number, signal?: AbortSignal) =>
      read<Page<Movement>>(
        `/v1/stock/${at(sku)}/movements${query_of({ cursor, limit })}`, signal),
    why: (sku: string, signal?: AbortSignal) =>
      read<{ sku: string; levels: LevelExplanation[] }>(`/v1/stock/${at(sku)}/why`, signal),

    reservations: (query: Query, signal?: AbortSignal) =>
      read<Page<Reservation>>(`/v1/reservations${query_of(query)}`, signal),
    reservation: (id: string, signal?: AbortSignal) =>
      read<Reservation>(`/v1/reservations/${at(id)}`, signal),
    release: (id: string, reason: string) =>
      alter<Reservation>('POST', `/v1/reservations/${at(id)}/release`, { reason }),
    extend: (id: string, ttl_seconds: number, reason: string) =>
      alter<Reservation>('POST', `/v1/reservations/${at(id)}/extend`, { ttl_seconds, reason }),

    // The place behind all events there are.
    events_end: (signal: AbortSignal) =>
      read<{ next_after: string }>(`/v1/events${query_of({ after: 'now', limit: 1 })}`, signal),
    // Events after a place.
    async events(query: Query, last: string, signal: AbortSignal) {
      const headers = { Accept: 'text/event-stream', 'Last-Event-ID': last };
      const answer = await ask(`/v1/events/stream${query_of(query)}`, { headers, signal });
      if (!answer.body) throw new Outage('a stream without a body');
      return answer.body;
    },

    preview_import: (file: Blob, mode: ImportMode) =>
      once<ImportResult>(`/v1/imports${query_of({ mode, dry_run: true })}`, { csv: file },
        new_key()),
    // A delivery is known by what is in its file, so that it is not added twice but where `anew`
    // says so. The other modes say what there is, and may be said again.
    import_stock: async (file: Blob, mode: ImportMode, anew: boolean) =>
      once_or_known<ImportResult>(`/v1/imports${query_of({ mode })}`, { csv: file },
        mode === 'add' && !anew ? await key_of(file) : undefined),
    past_imports: (query: Query, signal?: AbortSignal) =>
      read<Page<PastImport>>(`/v1/imports${query_of(query)}`, signal),
    past_import: (id: string, signal?: AbortSignal) =>
      read<ShownImport>(`/v1/imports/${at(id)}`, signal),
    undo_import: (id: string, allow_short: boolean) =>
      alter<ShownImport>('POST', `/v1/imports/${at(id)}/undo`, { allow_short }),

    counts: (query: Query, signal?: AbortSignal) =>
      read<Page<StockCount>>(`/v1/counts${query_of(query)}`, signal),
    count: (id: string, signal?: AbortSignal) =>
      read<ShownCount>(`/v1/counts/${at(id)}`, signal),
    open_count: (draft: CountDraft) => once<ShownCount>('/v1/counts', { json: draft }),
    // Under the key of an earlier attempt, what that one entered keeps its moment.
    enter_counted: (id: string, entries: Counted[], key?: string) =>
      once<{ entries: CountEntry[] }>(
        `/v1/counts/${at(id)}/entries`, { method: 'PUT', json: { entries } }, key),
    apply_count: (id: string) => alter<ShownCount>('POST', `/v1/counts/${at(id)}/apply`),
    cancel_count: (id: string) => alter<ShownCount>('POST', `/v1/counts/${at(id)}/cancel`),

    // Where a browser gets all of a report, for a spreadsheet.
    report_file: (report: string, query: Query) =>
      `/v1/reports/${report}${query_of({ ...query, format: 'csv' })}`,
    low_stock: (query: Query, signal?: AbortSignal) =>
      read<Page<LowItem>>(`/v1/reports/low-stock${query_of(query)}`, signal),
    held_longest: (query: Query, signal?: AbortSignal) =>
      read<Page<OldHold> & { complete: boolean }>(
        `/v1/reports/held-longest${query_of(query)}`, signal),
    movement_sums: (query: Query, signal?: AbortSignal) =>
      read<Page<MovementSum>>(`/v1/reports/movements${query_of(query)}`, signal),

    webhooks: (signal?: AbortSignal) => read<Page<Webhook>>('/v1/webhooks', signal),
    webhook: (id: string, signal?: AbortSignal) =>
      read<Webhook>(`/v1/webhooks/${at(id)}`, signal),
    create_webhook: (draft: WebhookDraft) => make<Webhook>('/v1/webhooks', draft),
    change_webhook: (id: string, change: { state: 'active' | 'paused' }) =>
      alter<Webhook>('PATCH', `/v1/webhooks/${at(id)}`, change),
    delete_webhook: (id: string) => remove(`/v1/webhooks/${at(id)}`),
    rotate_webhook: (id: string) => make<Webhook>(`/v1/webhooks/${at(id)}/rotate`, {}),
    test_webhook: (id: string) => alter<Delivery>('POST', `/v1/webhooks/${at(id)}/test`, {}),
    replay_webhook: (id: string, since: string) =>
      alter<Webhook>('POST', `/v1/webhooks/${at(id)}/replay`, { since }),
    deliveries: (id: string, query: Query, signal?: AbortSignal) =>
      read<Page<Delivery>>(`/v1/webhooks/${at(id)}/deliveries${query_of(query)}`, signal),
    resend: (id: string, delivery: string) =>
      alter<Delivery>('POST', `/v1/webhooks/${at(id)}/deliveries/${at(delivery)}/resend`, {}),

    drift: (query: Query, signal?: AbortSignal) =>
      read<Page<Drift>>(`/v1/reconciliations${query_of(query)}`, signal),
    reconcile: (repair: boolean) =>
      alter<{ differences: Difference[]; repaired: number }>('POST', '/v1/reconciliations',
        { repair }),

    blocked: (query: Query, signal?: AbortSignal) =>
      read<Page<BlockedCustomer>>(`/v1/blocked-customers${query_of(query)}`, signal),
    block: (customer: string, reason: string) =>
      alter<BlockedCustomer>('PUT', `/v1/blocked-customers/${at(customer)}`, { reason }),
    unblock: (customer: string) =>
      remove(`/v1/blocked-customers/${at(customer)}`),

    trail: (query: Query, signal?: AbortSignal) =>
      read<Page<TrailEntry>>(`/v1/trail${query_of(query)}`, signal),

    staff: (query: Query, signal?: AbortSignal) =>
      read<Page<StaffAccount>>(`/v1/staff${query_of(query)}`, signal),
    create_staff: (name: string, role: StaffRole, password: string) =>
      make<StaffAccount>('/v1/staff', { name, role, password }),
    change_staff: (id: string, change: StaffChange) =>
      alter<StaffAccount>('PATCH', `/v1/staff/${at(id)}`, change),
    remove_staff: (id: string) => remove(`/v1/staff/${at(id)}`),
    set_password: (id: string, password: string, current: string) =>
      alter<void>('POST', `/v1/staff/${at(id)}/password`, { password, current_password: current }),
    // For somebody else; whoever opens it sets the password.
    make_link: (id: string) =>
      make<{ token: string; expires_at: string }>(`/v1/staff/${at(id)}/link`, undefined),
    keys: (query: Query, signal?: AbortSignal) =>
      read<Page<ApiKey>>(`/v1/keys${query_of(query)}`, signal),
    create_key: (name: string, role: KeyRole) =>
      make<ApiKey>('/v1/keys', { name, role }),
    revoke_key: (id: string) => remove(`/v1/keys/${at(id)}`),

    audit: () => read<Audit>('/v1/audit'),
    // Answers with why it is not ready; an empty list when it is.
    async ready(signal?: AbortSignal): Promise<string[]> {
      try {
        await ask('/readyz', { signal });
        return [];
      } catch (fault) {
        if (fault instanceof Refusal && fault.problem.status === 503)
          return fault.problem.reasons ?? [fault.problem.detail];
        throw fault;
      }
    },
    async metrics(signal?: AbortSignal): Promise<string> {
      return (await ask('/metrics', { signal })).text();
    },
  };
}
