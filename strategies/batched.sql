-- SPDX-License-Identifier: Apache-2.0
-- Many takers share one look and one write. Rows are locked in order first, in the same statement,
-- so that batches that share levels never deadlock.

-- Takes everything when everything fits and nothing otherwise. Gives each level as it was before;
-- PostgreSQL reads the row again after a wait, so these numbers are the ones under the lock.
-- name: take(skus, locations, quantities, entries) :many
WITH wanted AS MATERIALIZED (
    SELECT *
      FROM unnest(:skus::text[], :locations::text[], :quantities::bigint[], :entries::bigint[])
           AS w(sku, location, quantity, entries)
), locked AS MATERIALIZED (
    SELECT l.sku, l.location, l.on_hand, l.reserved, l.version
      FROM stock_level l
     WHERE (l.sku, l.location) IN (SELECT w.sku, w.location FROM wanted w)
       AND l.sku = ANY (:skus::text[])
     ORDER BY l.sku, l.location
       FOR UPDATE OF l
), verdict AS MATERIALIZED (
    SELECT count(*) = (SELECT count(*) FROM wanted)
           AND bool_and(l.on_hand - l.reserved >= w.quantity) AS all_fit
      FROM locked l
      JOIN wanted w ON w.sku = l.sku AND w.location = l.location
), moved AS (
    UPDATE stock_level l
       SET reserved = l.reserved + w.quantity,
           version  = l.version + w.entries
      FROM wanted w
     WHERE (SELECT all_fit FROM verdict)
       AND l.sku = w.sku AND l.location = w.location AND l.sku = ANY (:skus::text[])
)
SELECT l.sku, l.location, l.on_hand, l.reserved, l.version, (SELECT all_fit FROM verdict)
  FROM locked l;

-- One level needs no order: the guard in the WHERE decides, as in conditional_update.
-- name: take_from_one(sku, location, quantity, entries) :maybe
UPDATE stock_level
   SET reserved = reserved + :quantity::bigint,
       version  = version + :entries::bigint
 WHERE sku = :sku AND location = :location
   AND on_hand - reserved >= :quantity::bigint
RETURNING on_hand, reserved, version;

-- What was admitted of levels that are locked.
-- name: admit(skus, locations, quantities, entries) :exec
UPDATE stock_level l
   SET reserved = l.reserved + n.quantity,
       version  = l.version + n.entries
  FROM unnest(:skus::text[], :locations::text[], :quantities::bigint[], :entries::bigint[])
       AS n(sku, location, quantity, entries)
 WHERE l.sku = n.sku AND l.location = n.location AND l.sku = ANY (:skus::text[]);
