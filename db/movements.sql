-- SPDX-License-Identifier: Apache-2.0
-- The ledger and the outbox: a line for each change of a level, and for each level one entry that
-- says which lines others have to learn of, written together.

-- name: append(skus, locations, versions, kinds, on_hand_deltas, reserved_deltas, on_hands,
--     reserveds, reservation_ids, actors, reasons, notes, refs) :exec
WITH change AS MATERIALIZED (
    SELECT *
      FROM unnest(:skus::text[], :locations::text[], :versions::bigint[], :kinds::movement_kind[],
                  :on_hand_deltas::bigint[], :reserved_deltas::bigint[], :on_hands::bigint[],
                  :reserveds::bigint[], :reservation_ids::uuid[], :actors::text[], :reasons::text[],
                  :notes::text[], :refs::text[]) WITH ORDINALITY
           AS c(sku, location, version, kind, on_hand_delta, reserved_delta, on_hand, reserved,
                reservation_id, actor, reason, note, reference, place)
), written AS (
    INSERT INTO movement (sku, location, version, kind, on_hand_delta, reserved_delta, on_hand,
                          reserved, reservation_id, actor, reason, note, reference)
    SELECT sku, location, version, kind, on_hand_delta, reserved_delta, on_hand, reserved,
           reservation_id, actor, reason, note, reference
      FROM change
     ORDER BY place
)
INSERT INTO outbox (sku, location, first_version, last_version, low_stock_at)
SELECT c.sku, c.location, min(c.version), max(c.version),
       (SELECT i.low_stock_at FROM item i WHERE i.sku = c.sku LIMIT 1)
  FROM change c
 GROUP BY c.sku, c.location
 ORDER BY min(c.place);

-- name: of_version(sku, location, version) :one
SELECT id, location, version, kind, on_hand_delta, reserved_delta, on_hand, reserved,
       reservation_id, actor, reason, note, reference, at
  FROM movement
 WHERE sku = :sku AND location = :location AND version = :version::bigint;

-- In the order asked.
-- name: of_versions(skus, locations, versions) :many
SELECT m.id, m.location, m.version, m.kind, m.on_hand_delta, m.reserved_delta, m.on_hand,
       m.reserved, m.reservation_id, m.actor, m.reason, m.note, m.reference, m.at
  FROM unnest(:skus::text[], :locations::text[], :versions::bigint[]) WITH ORDINALITY
       AS w(sku, location, version, place)
  JOIN movement m ON m.sku = w.sku AND m.location = w.location AND m.version = w.version
 ORDER BY w.place;

-- name: newest(sku, before, row_count) :many
SELECT id, location, version, kind, on_hand_delta, reserved_delta, on_hand, reserved,
       reservation_id, actor, reason, note, reference, at
  FROM movement
 WHERE sku COLLATE "POSIX" = :sku AND id < :before::bigint
 ORDER BY id DESC
 LIMIT :row_count::bigint;

-- name: by_id(sku, id) :maybe
SELECT id, location, version, kind, on_hand_delta, reserved_delta, on_hand, reserved,
       reservation_id, actor, reason, note, reference, at
  FROM movement
 WHERE sku COLLATE "POSIX" = :sku AND id = :id::bigint;

-- What the last movements of each level come to, by kind and reason: those that moved what is on
-- hand. A version is a movement, so a number of versions bounds what is read.
-- name: sums(sku, locations, per_level_max) :many
SELECT l.location, m.kind, m.reason, count(*), sum(m.on_hand_delta)::bigint
  FROM stock_level l
  JOIN movement m ON m.sku = l.sku AND m.location = l.location
                 AND m.version > l.version - :per_level_max::bigint
 WHERE l.sku = :sku AND l.location = ANY (:locations::text[])
   AND m.kind IN ('received', 'adjusted', 'counted', 'confirmed', 'returned')
 GROUP BY l.location, m.kind, m.reason
 ORDER BY l.location, m.kind, m.reason;

-- The levels as they were before the oldest of those.
-- name: brought_forward(sku, locations, per_level_max) :many
SELECT m.location, m.version, m.on_hand
  FROM stock_level l
  JOIN movement m ON m.sku = l.sku AND m.location = l.location
                 AND m.version = l.version - :per_level_max::bigint
 WHERE l.sku = :sku AND l.location = ANY (:locations::text[]);
