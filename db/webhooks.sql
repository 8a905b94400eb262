-- SPDX-License-Identifier: Apache-2.0
-- Webhooks, and the deliveries to them.

-- One is made at a time, so that they can be counted.
-- name: lock_list() :exec
SELECT pg_advisory_xact_lock(1751344228, 2);

-- name: insert(id, url, types, sku_prefix, description, secret, place, count_max) :maybe
INSERT INTO webhook (id, url, types, sku_prefix, description, secret, place)
SELECT :id::uuid, :url, :types::text[], :sku_prefix, :description, :secret::bytea, :place
 WHERE (SELECT count(*) FROM webhook WHERE state <> 'deleted') < :count_max::bigint
RETURNING created_at;

-- name: all() :many
SELECT w.id, w.url, array_to_string(w.types, ','), w.sku_prefix, w.description, w.state,
       w.disabled_reason, w.secret,
       (SELECT string_agg(f.secret::text, ',' ORDER BY f.id DESC)
          FROM webhook_former_secret f
         WHERE f.webhook_id = w.id AND f.signs_till > now()),
       w.place, w.revision, w.created_at
  FROM webhook w
 WHERE w.state <> 'deleted'
 ORDER BY w.id;

-- name: by_id(id) :maybe
SELECT w.id, w.url, array_to_string(w.types, ','), w.sku_prefix, w.description, w.state,
       w.disabled_reason, w.secret,
       (SELECT string_agg(f.secret::text, ',' ORDER BY f.id DESC)
          FROM webhook_former_secret f
         WHERE f.webhook_id = w.id AND f.signs_till > now()),
       w.place, w.revision, w.created_at
  FROM webhook w
 WHERE w.id = :id::uuid AND w.state <> 'deleted';

-- name: lock(id) :maybe
SELECT w.id, w.url, array_to_string(w.types, ','), w.sku_prefix, w.description, w.state,
       w.disabled_reason, w.secret,
       (SELECT string_agg(f.secret::text, ',' ORDER BY f.id DESC)
          FROM webhook_former_secret f
         WHERE f.webhook_id = w.id AND f.signs_till > now()),
       w.place, w.revision, w.created_at
  FROM webhook w
 WHERE w.id = :id::uuid AND w.state <> 'deleted'
   FOR UPDATE OF w;

-- name: change(id, url, types, sku_prefix, description, state, disabled_reason) :exec
UPDATE webhook
   SET url = :url, types = :types::text[], sku_prefix = :sku_prefix, description = :description,
       state = :state, disabled_reason = :disabled_reason, revision = revision + 1
 WHERE id = :id::uuid;

-- The secrets before sign as long as they were going to, the five newest of them.
-- name: rotate(id, secret, keep_former_seconds) :exec
WITH renewed AS (
    UPDATE webhook
       SET secret = :secret::bytea, revision = revision + 1
     WHERE id = :id::uuid
), former AS (
    INSERT INTO webhook_former_secret (webhook_id, secret, signs_till)
    SELECT id, secret, now() + :keep_former_seconds::bigint * interval '1 second'
      FROM webhook
     WHERE id = :id::uuid AND :keep_former_seconds::bigint > 0
)
DELETE FROM webhook_former_secret
 WHERE webhook_id = :id::uuid
   AND (signs_till <= now() OR :keep_former_seconds::bigint = 0
        OR id NOT IN (SELECT id
                        FROM webhook_former_secret
                       WHERE webhook_id = :id::uuid
                       ORDER BY id DESC
                       LIMIT 4));

-- Only as it was when it was called; and not while somebody changes it.
-- name: disable(id, revision, reason) :exec
UPDATE webhook
   SET state = 'disabled', disabled_reason = :reason
 WHERE id = (SELECT id
               FROM webhook
              WHERE id = :id::uuid AND revision = :revision::bigint AND state = 'active'
                FOR UPDATE SKIP LOCKED);

-- name: move(id, place) :exec
UPDATE webhook SET place = :place, revision = revision + 1 WHERE id = :id::uuid;

-- Only as it was seen: somebody may have changed it or set it back meanwhile, or may deliver to it
-- since our session was lost. Waits for nobody, so that no webhook waits for another one.
-- name: advance(id, revision, seen, place) :exec
UPDATE webhook
   SET place = :place
 WHERE id = (SELECT id
               FROM webhook
              WHERE id = :id::uuid AND revision = :revision::bigint AND place = :seen
                AND state = 'active'
                FOR UPDATE SKIP LOCKED);

-- name: backlogs(webhook_id) :many
SELECT sku, place FROM webhook_backlog WHERE webhook_id = :webhook_id::uuid;

-- name: keep_backlog(webhook_id, skus, places) :exec
INSERT INTO webhook_backlog (webhook_id, sku, place)
SELECT :webhook_id::uuid, n.sku, n.place
  FROM unnest(:skus::text[], :places::text[]) AS n(sku, place)
    ON CONFLICT (webhook_id, sku) DO UPDATE
   SET place = excluded.place;

-- name: drop_backlog(webhook_id, sku) :exec
DELETE FROM webhook_backlog
 WHERE webhook_id = :webhook_id::uuid AND (:sku::text IS NULL OR sku = :sku);

-- Its deliveries may be many: they go in steps.
-- name: remove(id) :exec
UPDATE webhook
   SET state = 'deleted', disabled_reason = NULL, revision = revision + 1
 WHERE id = :id::uuid;

-- name: clear_deleted(row_count) :exec
DELETE FROM webhook_delivery
 WHERE id IN (SELECT d.id
                FROM webhook w
                JOIN webhook_delivery d ON d.webhook_id = w.id
               WHERE w.state = 'deleted'
               LIMIT :row_count::bigint
                 FOR UPDATE OF d SKIP LOCKED);

-- name: drop_deleted() :exec
DELETE FROM webhook w
 WHERE w.state = 'deleted'
   AND NOT EXISTS (SELECT FROM webhook_delivery d WHERE d.webhook_id = w.id LIMIT 1);

-- Who has this lock delivers to the webhook, until its session ends.
-- name: try_own(lock_number) :one
SELECT pg_try_advisory_lock(:lock_number::bigint);

-- name: disown(lock_number) :one
SELECT pg_advisory_unlock(:lock_number::bigint);

-- An event that was delivered before, and is told again, becomes pending again, behind the others.
-- name: enqueue(webhook_id, event_ids, event_types, skus, bodies, delay_seconds) :exec
INSERT INTO webhook_delivery AS d (webhook_id, event_id, event_type, sku, body, due_at)
SELECT :webhook_id::uuid, n.event_id, n.event_type, n.sku, n.body,
       now() + :delay_seconds::bigint * interval '1 second'
  FROM unnest(:event_ids::text[], :event_types::text[], :skus::text[], :bodies::text[])
       WITH ORDINALITY AS n(event_id, event_type, sku, body, place)
 ORDER BY n.place
    ON CONFLICT (webhook_id, event_id) DO UPDATE
   SET id = DEFAULT, state = 'pending', settled_at = NULL, attempts = 0,
       due_at = excluded.due_at
 WHERE d.state <> 'pending';

-- name: resend(webhook_id, event_id) :exec
UPDATE webhook_delivery
   SET id = DEFAULT, state = 'pending', settled_at = NULL, attempts = 0, due_at = now()
 WHERE webhook_id = :webhook_id::uuid AND event_id = :event_id AND state <> 'pending';

-- Brings the next attempts forward: of one delivery, or of all.
-- name: hurry(webhook_id, event_id) :exec
UPDATE webhook_delivery
   SET due_at = now()
 WHERE webhook_id = :webhook_id::uuid AND state = 'pending' AND due_at > now()
   AND (:event_id::text IS NULL OR event_id = :event_id);

-- Which of these may be sent now, such as those that somebody has brought forward.
-- name: due(ids) :many
SELECT id
  FROM webhook_delivery
 WHERE id = ANY (:ids::bigint[]) AND state = 'pending' AND due_at <= now();

-- Those that are to be delivered, the first of them, but for those the caller has, and in how many
-- milliseconds the next attempt may be made.
-- name: pending(webhook_id, known, row_count) :many
SELECT id, event_id, sku, body, attempts,
       GREATEST(0, extract(epoch FROM due_at - now()) * 1000)::bigint
  FROM webhook_delivery
 WHERE webhook_id = :webhook_id::uuid AND state = 'pending' AND NOT id = ANY (:known::bigint[])
 ORDER BY id
 LIMIT :row_count::bigint;

-- What came of attempts.
-- name: note(ids, attempts, statuses, faults, states, delays_ms) :exec
UPDATE webhook_delivery d
   SET attempts        = n.attempts,
       last_attempt_at = now(),
       last_status     = n.status,
       last_fault      = n.fault,
       state           = n.state,
       due_at          = now() + n.delay_ms * interval '1 millisecond',
       settled_at      = CASE WHEN n.state <> 'pending' THEN now() END
  FROM unnest(:ids::bigint[], :attempts::bigint[], :statuses::bigint[], :faults::text[],
              :states::text[], :delays_ms::bigint[])
       AS n(id, attempts, status, fault, state, delay_ms)
 WHERE d.id = n.id AND d.state = 'pending';

-- name: delivery(webhook_id, event_id) :maybe
SELECT id, event_id, event_type, sku, state, attempts,
       CASE WHEN state = 'pending' THEN due_at END, last_attempt_at, last_status, last_fault,
       created_at, settled_at
  FROM webhook_delivery
 WHERE webhook_id = :webhook_id::uuid AND event_id = :event_id;

-- Newest first, along the index of each state.
-- name: deliveries(webhook_id, states, before, row_count) :many
SELECT d.id, d.event_id, d.event_type, d.sku, d.state, d.attempts,
       CASE WHEN d.state = 'pending' THEN d.due_at END, d.last_attempt_at, d.last_status,
       d.last_fault, d.created_at, d.settled_at
  FROM unnest(:states::text[]) AS w(state)
 CROSS JOIN LATERAL (SELECT *
                       FROM webhook_delivery l
                      WHERE l.webhook_id = :webhook_id::uuid AND l.state = w.state
                        AND l.id < :before::bigint
                      ORDER BY l.id DESC
                      LIMIT :row_count::bigint) AS d
 ORDER BY d.id DESC
 LIMIT :row_count::bigint;

-- name: forget(keep_seconds, row_count) :exec
DELETE FROM webhook_delivery
 WHERE id IN (SELECT id
                FROM webhook_delivery
               WHERE settled_at < now() - :keep_seconds::bigint * interval '1 second'
               ORDER BY settled_at
               LIMIT :row_count::bigint
                 FOR UPDATE SKIP LOCKED);
