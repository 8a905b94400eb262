-- SPDX-License-Identifier: Apache-2.0
-- Webhooks, and the deliveries to them.

-- name: insert(id, url, types, sku_prefix, description, secret, place, count_max) :maybe
INSERT INTO webhook (id, url, types, sku_prefix, description, secret, place)
SELECT :id::uuid, :url, :types::text[], :sku_prefix, :description, :secret::bytea, :place
 WHERE (SELECT count(*) FROM webhook) < :count_max::bigint
RETURNING created_at;

-- name: all() :many
SELECT id, url, array_to_string(types, ','), sku_prefix, description, state, disabled_reason,
       secret, CASE WHEN former_until > now() THEN former_secret END, place, revision, created_at
  FROM webhook
 ORDER BY id;

-- name: by_id(id) :maybe
SELECT id, url, array_to_string(types, ','), sku_prefix, description, state, disabled_reason,
       secret, CASE WHEN former_until > now() THEN former_secret END, place, revision, created_at
  FROM webhook
 WHERE id = :id::uuid;

-- name: lock(id) :maybe
SELECT id, url, array_to_string(types, ','), sku_prefix, description, state, disabled_reason,
       secret, CASE WHEN former_until > now() THEN former_secret END, place, revision, created_at
  FROM webhook
 WHERE id = :id::uuid
   FOR UPDATE;

-- name: change(id, url, types, sku_prefix, description, state, disabled_reason) :exec
UPDATE webhook
   SET url = :url, types = :types::text[], sku_prefix = :sku_prefix, description = :description,
       state = :state, disabled_reason = :disabled_reason, revision = revision + 1
 WHERE id = :id::uuid;

-- name: rotate(id, secret, keep_former_seconds) :exec
UPDATE webhook
   SET former_secret = secret, secret = :secret::bytea,
       former_until  = now() + :keep_former_seconds::bigint * interval '1 second',
       revision      = revision + 1
 WHERE id = :id::uuid;

-- name: disable(id, reason) :exec
UPDATE webhook
   SET state = 'disabled', disabled_reason = :reason
 WHERE id = :id::uuid AND state = 'active';

-- name: move(id, place) :exec
UPDATE webhook SET place = :place, revision = revision + 1 WHERE id = :id::uuid;

-- Only as it was seen: somebody may have changed it or set it back meanwhile.
-- name: advance(id, revision, place) :exec
UPDATE webhook
   SET place = :place
 WHERE id = :id::uuid AND revision = :revision::bigint AND state = 'active';

-- name: remove(id) :exec
DELETE FROM webhook WHERE id = :id::uuid;

-- Who has this lock delivers to the webhook, until its session ends.
-- name: try_own(lock_number) :one
SELECT pg_try_advisory_lock(:lock_number::bigint);

-- name: disown(lock_number) :one
SELECT pg_advisory_unlock(:lock_number::bigint);

-- An event that was delivered before, and is told again, becomes pending again, behind the others.
-- name: enqueue(webhook_id, event_ids, event_types, skus, bodies) :exec
INSERT INTO webhook_delivery AS d (webhook_id, event_id, event_type, sku, body)
SELECT :webhook_id::uuid, n.event_id, n.event_type, n.sku, n.body
  FROM unnest(:event_ids::text[], :event_types::text[], :skus::text[], :bodies::text[])
       WITH ORDINALITY AS n(event_id, event_type, sku, body, place)
 ORDER BY n.place
    ON CONFLICT (webhook_id, event_id) DO UPDATE
   SET id = DEFAULT, state = 'pending', settled_at = NULL, attempts = 0, due_at = now()
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
