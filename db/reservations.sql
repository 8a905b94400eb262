-- SPDX-License-Identifier: Apache-2.0
-- Reservations and their lines. A hold whose expires_at has passed counts as expired, whether
-- somebody has returned its units yet or not; only towards a customer's limit it counts until then.
-- The database's clock decides.

-- Everything known before anything is taken: whether this transaction got the key's lock, what the
-- key made before, and the rules of each item wanted. The lock is tried, not waited for.
-- name: look(lock_number, api_key_id, key, skus, locations) :many
WITH asked AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(:lock_number::bigint) AS is_mine,
           :api_key_id::bigint AS api_key_id,
           :key::text          AS key
)
SELECT asked.is_mine,
       earlier.id,
       earlier.fingerprint,
       EXISTS (SELECT FROM idempotency_key k
                WHERE k.api_key_id = asked.api_key_id AND k.key = asked.key),
       w.sku,
       w.location,
       i.sku IS NOT NULL,
       COALESCE(i.on_sale AND COALESCE(i.sale_starts_at <= now(), true)
                          AND COALESCE(i.sale_ends_at > now(), true), false),
       i.max_per_customer,
       i.strategy,
       COALESCE(l.on_hand - l.reserved, 0)
  FROM asked
 CROSS JOIN unnest(:skus::text[], :locations::text[]) WITH ORDINALITY AS w(sku, location, place)
  LEFT JOIN item i ON i.sku = w.sku
  LEFT JOIN stock_level l ON l.sku = w.sku AND l.location = w.location
  LEFT JOIN reservation earlier ON earlier.api_key_id = asked.api_key_id
                               AND earlier.idempotency_key = asked.key
 ORDER BY w.place;

-- name: find_key(api_key_id, key) :maybe
SELECT id, fingerprint
  FROM reservation
 WHERE api_key_id = :api_key_id::bigint AND idempotency_key = :key;

-- name: insert(id, api_key_id, key, fingerprint, customer, reference, metadata, ttl, supersedes,
--     skus, locations, quantities) :maybe
WITH made AS (
    INSERT INTO reservation (id, api_key_id, idempotency_key, fingerprint, customer, reference,
                             metadata, expires_at, supersedes)
    VALUES (:id::uuid, :api_key_id::bigint, :key, :fingerprint::bytea, :customer, :reference,
            :metadata, now() + :ttl::bigint * interval '1 second', :supersedes::uuid)
        ON CONFLICT (api_key_id, idempotency_key) DO NOTHING
    RETURNING id, created_at, expires_at
), lines AS (
    INSERT INTO reservation_line (reservation_id, sku, location, quantity, held_until)
    SELECT made.id, n.sku, n.location, n.quantity, made.expires_at
      FROM made
     CROSS JOIN unnest(:skus::text[], :locations::text[], :quantities::bigint[])
           AS n(sku, location, quantity)
)
SELECT created_at, expires_at
  FROM made;

-- name: by_id(id) :maybe
SELECT id, state, customer, reference, metadata, created_at, expires_at, settled_at, supersedes,
       superseded_by, expires_at <= now()
  FROM reservation
 WHERE id = :id::uuid;

-- name: lock(id) :maybe
SELECT id, state, customer, reference, metadata, created_at, expires_at, settled_at, supersedes,
       superseded_by, expires_at <= now()
  FROM reservation
 WHERE id = :id::uuid
   FOR UPDATE;

-- name: lines(ids) :many
SELECT reservation_id, sku, location, quantity, confirmed, returned, restocked
  FROM reservation_line
 WHERE reservation_id = ANY (:ids::uuid[])
 ORDER BY reservation_id, sku, location;

-- name: confirm(id, skus, locations, confirmed) :maybe
WITH settled AS (
    UPDATE reservation
       SET state = 'confirmed', settled_at = now()
     WHERE id = :id::uuid
    RETURNING id, settled_at
), lines AS (
    UPDATE reservation_line l
       SET confirmed = n.confirmed, held_until = NULL
      FROM unnest(:skus::text[], :locations::text[], :confirmed::bigint[])
           AS n(sku, location, confirmed), settled
     WHERE l.reservation_id = settled.id AND l.sku = n.sku AND l.location = n.location
)
SELECT settled_at
  FROM settled;

-- name: close(ids, state, superseded_by) :one
WITH settled AS (
    UPDATE reservation
       SET state = :state::reservation_state, settled_at = now(),
           superseded_by = COALESCE(:superseded_by::uuid, superseded_by)
     WHERE id = ANY (:ids::uuid[])
    RETURNING id
), lines AS (
    UPDATE reservation_line l
       SET held_until = NULL
      FROM settled
     WHERE l.reservation_id = settled.id
)
SELECT now();

-- name: extend(id, ttl) :maybe
WITH extended AS (
    UPDATE reservation
       SET expires_at = now() + :ttl::bigint * interval '1 second'
     WHERE id = :id::uuid
    RETURNING id, expires_at
), lines AS (
    UPDATE reservation_line l
       SET held_until = extended.expires_at
      FROM extended
     WHERE l.reservation_id = extended.id
)
SELECT expires_at
  FROM extended;

-- name: give_back(id, skus, locations, quantities, is_restocked) :exec
UPDATE reservation_line l
   SET returned  = l.returned + n.quantity,
       restocked = l.restocked + CASE WHEN :is_restocked::boolean THEN n.quantity ELSE 0 END
  FROM unnest(:skus::text[], :locations::text[], :quantities::bigint[])
       AS n(sku, location, quantity)
 WHERE l.reservation_id = :id::uuid AND l.sku = n.sku AND l.location = n.location;

-- Waits for rows somebody else holds instead of skipping them: what is skipped would be counted as
-- sold.
-- name: lock_due(skus, locations, holds_max) :many
SELECT r.id
  FROM reservation r
 WHERE r.state = 'held' AND r.expires_at <= now()
   AND r.id IN (SELECT l.reservation_id
                  FROM unnest(:skus::text[], :locations::text[]) AS w(sku, location)
                  JOIN reservation_line l ON l.sku = w.sku AND l.location = w.location
                 WHERE l.held_until <= now()
                 ORDER BY l.held_until
                 LIMIT :holds_max::bigint)
 ORDER BY r.id
   FOR UPDATE OF r;

-- name: lock_customer(lock_number) :exec
SELECT pg_advisory_xact_lock(:lock_number::bigint);

-- Counts due holds too, until somebody has expired them under their locks: a confirmation that
-- began in time may still be under way.
-- name: open_holds(customer) :one
SELECT count(*)
  FROM reservation
 WHERE customer = :customer AND state = 'held';

-- name: units_of_customer(customer, skus, apart_from) :many
SELECT l.sku,
       sum(CASE WHEN r.state = 'confirmed' THEN l.confirmed - l.restocked
                WHEN r.state = 'held' THEN l.quantity
                ELSE 0 END)::bigint
  FROM reservation r
  JOIN reservation_line l ON l.reservation_id = r.id
 WHERE r.customer = :customer AND l.sku = ANY (:skus::text[])
   AND r.id IS DISTINCT FROM :apart_from::uuid
 GROUP BY l.sku;

-- name: lock_due_of_customer(customer, holds_max) :many
SELECT id
  FROM reservation
 WHERE id IN (SELECT d.id
                FROM reservation d
               WHERE d.customer = :customer AND d.state = 'held' AND d.expires_at <= now()
               ORDER BY d.id
               LIMIT :holds_max::bigint)
   AND state = 'held' AND expires_at <= now()
 ORDER BY id
   FOR UPDATE;

-- name: holds_on(sku, location, row_count) :many
SELECT r.id, l.quantity, r.expires_at, r.customer, r.reference
  FROM reservation_line l
  JOIN reservation r ON r.id = l.reservation_id
 WHERE l.sku = :sku AND l.location = :location AND l.held_until > now()
 ORDER BY r.id
 LIMIT :row_count::bigint;

-- name: list(state, before, row_count) :many
SELECT id, state, customer, reference, metadata, created_at, expires_at, settled_at, supersedes,
       superseded_by, expires_at <= now()
  FROM reservation
 WHERE id < :before::uuid
   AND (CASE WHEN state = 'held' AND expires_at <= now() THEN 'expired' ELSE state::text END)
       = COALESCE(:state, CASE WHEN state = 'held' AND expires_at <= now() THEN 'expired'
                               ELSE state::text END)
 ORDER BY id DESC
 LIMIT :row_count::bigint;

-- name: list_held(before, row_count) :many
SELECT id, state, customer, reference, metadata, created_at, expires_at, settled_at, supersedes,
       superseded_by, expires_at <= now()
  FROM reservation
 WHERE state = 'held' AND expires_at > now() AND id < :before::uuid
 ORDER BY id DESC
 LIMIT :row_count::bigint;

-- name: list_of_customer(customer, state, reference, sku, before, row_count) :many
SELECT r.id, r.state, r.customer, r.reference, r.metadata, r.created_at, r.expires_at,
       r.settled_at, r.supersedes, r.superseded_by, r.expires_at <= now()
  FROM reservation r
 WHERE r.customer = :customer AND r.id < :before::uuid
   AND (:reference::text IS NULL OR r.reference = :reference)
   AND (:sku::text IS NULL OR EXISTS (SELECT FROM reservation_line l
                                       WHERE l.reservation_id = r.id AND l.sku = :sku))
   AND (:state::text IS NULL
        OR :state = CASE WHEN r.state = 'held' AND r.expires_at <= now() THEN 'expired'
                         ELSE r.state::text END)
 ORDER BY r.id DESC
 LIMIT :row_count::bigint;

-- name: list_of_reference(reference, state, sku, before, row_count) :many
SELECT r.id, r.state, r.customer, r.reference, r.metadata, r.created_at, r.expires_at,
       r.settled_at, r.supersedes, r.superseded_by, r.expires_at <= now()
  FROM reservation r
 WHERE r.reference = :reference AND r.id < :before::uuid
   AND (:sku::text IS NULL OR EXISTS (SELECT FROM reservation_line l
                                       WHERE l.reservation_id = r.id AND l.sku = :sku))
   AND (:state::text IS NULL
        OR :state = CASE WHEN r.state = 'held' AND r.expires_at <= now() THEN 'expired'
                         ELSE r.state::text END)
 ORDER BY r.id DESC
 LIMIT :row_count::bigint;

-- name: list_of_sku(sku, state, before, row_count) :many
SELECT r.id, r.state, r.customer, r.reference, r.metadata, r.created_at, r.expires_at,
       r.settled_at, r.supersedes, r.superseded_by, r.expires_at <= now()
  FROM (SELECT DISTINCT l.reservation_id
          FROM reservation_line l
         WHERE l.sku = :sku AND l.reservation_id < :before::uuid) AS of_sku
  JOIN reservation r ON r.id = of_sku.reservation_id
 WHERE :state::text IS NULL
    OR :state = CASE WHEN r.state = 'held' AND r.expires_at <= now() THEN 'expired'
                     ELSE r.state::text END
 ORDER BY of_sku.reservation_id DESC
 LIMIT :row_count::bigint;
