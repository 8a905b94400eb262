-- SPDX-License-Identifier: Apache-2.0
-- Items that Redis stands before, and what it has to be told of them.

-- Also those that Redis stands before no more, but that may have something in their queues.
-- name: all() :many
SELECT sku, fast_path IS NOT NULL, COALESCE(fast_path = 'async', false), admission IS NOT NULL,
       COALESCE(fast_buckets, 1), COALESCE(fast_queues, 0), COALESCE(fast_epoch, 0),
       COALESCE(fast_not_before <= now(), false)
           AND COALESCE(fast_closed_at < now() - interval '1 second', true),
       COALESCE(fast_not_before = 'infinity', false)
  FROM item
 WHERE fast_path IS NOT NULL OR fast_queues IS NOT NULL
 ORDER BY sku
 LIMIT 10000;

-- name: switch_on(sku, mode, buckets) :exec
UPDATE item
   SET fast_path = :mode, fast_buckets = :buckets::integer, fast_epoch = NULL,
       fast_queues = CASE WHEN :mode = 'async'
                          THEN GREATEST(COALESCE(fast_queues, 0), :buckets::integer)
                          ELSE fast_queues END,
       fast_closed_at = CASE WHEN fast_epoch IS NULL THEN fast_closed_at ELSE clock_timestamp() END,
       fast_pause_ms = 0, fast_not_before = now()
 WHERE sku = :sku;

-- name: switch_off(sku) :exec
UPDATE item
   SET fast_path = NULL, fast_buckets = NULL, fast_epoch = NULL,
       fast_closed_at = CASE WHEN fast_epoch IS NULL THEN fast_closed_at ELSE clock_timestamp() END,
       fast_pause_ms = 0, fast_not_before = NULL
 WHERE sku = :sku AND fast_path IS NOT NULL;

-- retire_queues, close and calm are the reconciler's, which has other items to look after: where
-- somebody has the row locked they do nothing, and are tried again in the next round.

-- Nothing can be put into its queues any more, and they are empty.
-- name: retire_queues(sku) :exec
UPDATE item
   SET fast_queues = NULL
 WHERE sku = (SELECT sku
                FROM item
               WHERE sku = :sku AND fast_path IS DISTINCT FROM 'async'
                 AND COALESCE(fast_closed_at < now() - interval '1 second', true)
                 FOR NO KEY UPDATE SKIP LOCKED);

-- name: next_epoch() :one
SELECT nextval('fast_path_epoch');

-- name: open(sku, epoch) :exec
UPDATE item
   SET fast_epoch = :epoch::bigint
 WHERE sku = :sku AND fast_path IS NOT NULL AND fast_epoch IS NULL AND fast_not_before <= now()
   AND COALESCE(fast_closed_at < now() - interval '1 second', true);

-- name: close(sku, epoch) :exec
UPDATE item
   SET fast_epoch = NULL, fast_closed_at = clock_timestamp()
 WHERE sku = (SELECT sku
                FROM item
               WHERE sku = :sku AND fast_epoch = :epoch::bigint
                 FOR NO KEY UPDATE SKIP LOCKED);

-- name: suspend(sku, epoch) :exec
UPDATE item
   SET fast_epoch = NULL, fast_closed_at = clock_timestamp(),
       fast_pause_ms = LEAST(30000, GREATEST(250, fast_pause_ms * 2)),
       fast_not_before = now()
                         + LEAST(30000, GREATEST(250, fast_pause_ms * 2)) * interval '1 millisecond'
 WHERE sku = :sku AND fast_epoch = :epoch::bigint;

-- Until somebody asks for it.
-- name: stop(sku, epoch) :exec
UPDATE item
   SET fast_epoch = NULL, fast_closed_at = clock_timestamp(), fast_not_before = 'infinity'
 WHERE sku = :sku AND fast_epoch = :epoch::bigint;

-- name: resume(sku) :exec
UPDATE item
   SET fast_pause_ms = 0, fast_not_before = now()
 WHERE sku = :sku AND fast_not_before = 'infinity';

-- name: calm(sku, epoch) :exec
UPDATE item
   SET fast_pause_ms = 0
 WHERE sku = (SELECT sku
                FROM item
               WHERE sku = :sku AND fast_epoch = :epoch::bigint
                 FOR NO KEY UPDATE SKIP LOCKED);

-- The time, and when the oldest of our transactions began that are under way.
-- name: times() :one
SELECT clock_timestamp(),
       COALESCE((SELECT min(xact_start)
                   FROM pg_stat_activity
                  WHERE datname = current_database() AND application_name = 'holdfast'
                    AND pid <> pg_backend_pid()), clock_timestamp());

-- What is free of each level of these items, due holds included, the rules of their sale, and what
-- the newest line of the ledger says the level is.
-- name: facts(skus) :many
SELECT i.sku, i.on_sale, i.sale_starts_at, i.sale_ends_at, i.max_per_customer, now(),
       l.location, l.version,
       l.on_hand - l.reserved + COALESCE((SELECT sum(h.quantity)
                                            FROM reservation_line h
                                           WHERE h.sku COLLATE "POSIX" = l.sku
                                             AND h.location COLLATE "POSIX" = l.location
                                             AND h.held_until <= now()), 0)::bigint,
       l.on_hand, l.reserved,
       COALESCE(m.version, 0), COALESCE(m.on_hand, 0), COALESCE(m.reserved, 0)
  FROM item i
  JOIN stock_level l ON l.sku = i.sku
  LEFT JOIN LATERAL (SELECT movement.version, movement.on_hand, movement.reserved
                       FROM movement
                      WHERE movement.sku = l.sku AND movement.location = l.location
                      ORDER BY movement.version DESC
                      LIMIT 1) AS m ON true
 WHERE i.sku = ANY (:skus::text[])
 ORDER BY i.sku, l.location;

-- name: made(ids) :many
SELECT id FROM reservation WHERE id = ANY (:ids::uuid[]);

-- Whose units came back to these levels after a version.
-- name: relieved(skus, locations, versions) :many
SELECT DISTINCT w.sku, r.customer
  FROM unnest(:skus::text[], :locations::text[], :versions::bigint[])
       AS w(sku, location, version)
 CROSS JOIN LATERAL (SELECT movement.reservation_id
                       FROM movement
                      WHERE movement.sku = w.sku AND movement.location = w.location
                        AND movement.version > w.version
                        AND movement.kind IN ('released', 'expired', 'returned')) AS m
 CROSS JOIN LATERAL (SELECT reservation.customer
                       FROM reservation
                      WHERE reservation.id = m.reservation_id
                      LIMIT 1) AS r
 WHERE r.customer IS NOT NULL;

-- Under which keys the item was reserved, from an id on, in the order of ids.
-- name: keys(sku, after, row_count) :many
SELECT l.reservation_id, r.api_key_id, r.idempotency_key, r.customer
  FROM (SELECT DISTINCT reservation_id
          FROM reservation_line
         WHERE sku = :sku AND reservation_id > :after::uuid
         ORDER BY reservation_id
         LIMIT :row_count::bigint) AS l
 CROSS JOIN LATERAL (SELECT reservation.api_key_id, reservation.idempotency_key,
                            reservation.customer
                       FROM reservation
                      WHERE reservation.id = l.reservation_id
                      LIMIT 1) AS r
 ORDER BY l.reservation_id;

-- One process keeps Redis up to date; another one goes on when its session ends.
-- name: try_own() :one
SELECT pg_try_advisory_lock(1751344228, 3);
