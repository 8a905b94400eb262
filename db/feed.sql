-- SPDX-License-Identifier: Apache-2.0
-- The order in which changes are told: giving positions to what is committed, and reading on from
-- one of them.

-- One process at a time gives positions. The others need not wait: their changes are given theirs
-- as well.
-- name: try_lock() :one
SELECT pg_try_advisory_xact_lock(1751344228, 1);

-- name: head() :one
SELECT position, last_id FROM feed_head;

-- Whether what may fill a gap is over. Asked before looking, so that what ended in between is seen.
-- name: gaps() :many
SELECT first_id, last_id, horizon,
       horizon <= pg_snapshot_xmin(pg_current_snapshot())::text::bigint
  FROM feed_gap
 ORDER BY first_id;

-- Runs of ids that are committed and have no position yet.
-- name: committed(last_id, row_count) :many
SELECT min(id), max(id)
  FROM (SELECT id, id - row_number() OVER (ORDER BY id) AS run
          FROM (SELECT o.id
                  FROM feed_gap g
                 CROSS JOIN LATERAL (SELECT id
                                       FROM outbox
                                      WHERE id BETWEEN g.first_id AND g.last_id) AS o
                 UNION ALL
                SELECT id
                  FROM (SELECT id
                          FROM outbox
                         WHERE id > :last_id::bigint
                         ORDER BY id
                         LIMIT :row_count::bigint) AS fresh) AS seen) AS numbered
 GROUP BY run
 ORDER BY min(id);

-- Told after everything in it happened: so not the time at which this transaction began.
-- name: tell(positions, first_ids, last_ids) :exec
INSERT INTO feed (position, first_id, last_id, told_at)
SELECT n.position, n.first_id, n.last_id, clock_timestamp()
  FROM unnest(:positions::bigint[], :first_ids::bigint[], :last_ids::bigint[])
       AS n(position, first_id, last_id);

-- name: move_head(position, last_id) :exec
UPDATE feed_head SET position = :position::bigint, last_id = :last_id::bigint;

-- name: drop_gaps() :exec
DELETE FROM feed_gap;

-- The owner of an id that is not to be seen has a transaction number, and had it before anybody had
-- a higher id. So it is below the next number to be given now.
-- name: keep_gaps(first_ids, last_ids, horizons) :exec
INSERT INTO feed_gap (first_id, last_id, horizon)
SELECT n.first_id, n.last_id,
       COALESCE(n.horizon, pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
  FROM unnest(:first_ids::bigint[], :last_ids::bigint[], :horizons::bigint[])
       AS n(first_id, last_id, horizon);

-- name: runs(position, row_count) :many
SELECT position, first_id, last_id
  FROM feed
 WHERE position >= :position::bigint
 ORDER BY position
 LIMIT :row_count::bigint;

-- name: announced(positions, first_ids, last_ids, sku, row_count) :many
SELECT w.position, o.id, o.sku, o.location, o.first_version, o.last_version, o.low_stock_at,
       o.drift_id
  FROM unnest(:positions::bigint[], :first_ids::bigint[], :last_ids::bigint[])
       AS w(position, first_id, last_id)
 CROSS JOIN LATERAL (SELECT *
                       FROM outbox
                      WHERE id BETWEEN w.first_id AND w.last_id
                        AND (:sku::text IS NULL OR outbox.sku = :sku)
                      ORDER BY id
                      LIMIT :row_count::bigint) AS o
 ORDER BY w.position, o.id
 LIMIT :row_count::bigint;

-- What happened in ranges of versions. Who holds and for what is the reservation's to say.
-- name: happened(skus, locations, first_versions, last_versions) :many
SELECT w.place - 1, m.version, m.kind, m.on_hand_delta, m.reserved_delta, m.on_hand, m.reserved,
       m.reservation_id, COALESCE(m.reference, r.reference), r.customer, m.at
  FROM unnest(:skus::text[], :locations::text[], :first_versions::bigint[],
              :last_versions::bigint[]) WITH ORDINALITY
       AS w(sku, location, first_version, last_version, place)
 CROSS JOIN LATERAL (SELECT *
                       FROM movement
                      WHERE movement.sku = w.sku AND movement.location = w.location
                        AND movement.version BETWEEN w.first_version AND w.last_version
                      ORDER BY movement.version) AS m
  LEFT JOIN LATERAL (SELECT reservation.reference, reservation.customer
                       FROM reservation
                      WHERE reservation.id = m.reservation_id
                      LIMIT 1) AS r ON true
 ORDER BY w.place, m.version;

-- What was found wrong of levels. Their numbers are those of the ledger, as in every other event,
-- where it has that version.
-- name: drifted(ids) :many
SELECT d.id, d.found - d.expected, d.version, COALESCE(m.on_hand, d.on_hand),
       COALESCE(m.reserved, d.reserved), d.at
  FROM drift d
  LEFT JOIN movement m ON m.sku = d.sku AND m.location = d.location AND m.version = d.version
 WHERE d.id = ANY (:ids::bigint[]);

-- The first position that was told at this time or later.
-- name: since(told_at) :maybe
SELECT position
  FROM feed
 WHERE told_at >= :told_at::timestamptz
 ORDER BY told_at
 LIMIT 1;

-- Positions old enough to be forgotten: those whose successor is, so that whoever has read all
-- there is has as long to come for what is new.
-- name: outdated(keep_seconds, row_count) :many
SELECT position, first_id, last_id
  FROM (SELECT position, first_id, last_id, lead(told_at) OVER (ORDER BY position) AS next_told_at
          FROM (SELECT *
                  FROM feed
                 ORDER BY position
                 LIMIT :row_count::bigint) AS oldest) AS told
 WHERE next_told_at < now() - :keep_seconds::bigint * interval '1 second'
 ORDER BY position;

-- name: forget(positions, first_ids, last_ids) :exec
WITH run AS (
    SELECT *
      FROM unnest(:positions::bigint[], :first_ids::bigint[], :last_ids::bigint[])
           AS w(position, first_id, last_id)
), unannounced AS (
    DELETE FROM outbox o
     USING run
     WHERE o.id BETWEEN run.first_id AND run.last_id
)
DELETE FROM feed f
 USING run
 WHERE f.position = run.position;
