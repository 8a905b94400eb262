-- SPDX-License-Identifier: Apache-2.0
-- Many takers share one look and one write.

-- Locks the rows in order. PostgreSQL reads a row again after a wait, so these numbers are the ones
-- under the lock.
-- name: lock(skus, locations) :many
SELECT l.sku, l.location, l.on_hand, l.reserved, l.version
  FROM stock_level l
 WHERE (l.sku, l.location) IN (SELECT w.sku, w.location
                                 FROM unnest(:skus::text[], :locations::text[]) AS w(sku, location))
   AND l.sku = ANY (:skus::text[])
 ORDER BY l.sku, l.location
   FOR UPDATE OF l;

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
