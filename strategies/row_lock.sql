-- SPDX-License-Identifier: Apache-2.0
-- Locks the rows in order, looks, then writes all of them. Waiters queue on the first row.

-- name: lock(skus, locations) :many
SELECT l.sku, l.location, l.on_hand, l.reserved, l.version
  FROM stock_level l
 WHERE (l.sku, l.location) IN (SELECT w.sku, w.location
                                 FROM unnest(:skus::text[], :locations::text[]) AS w(sku, location))
   AND l.sku = ANY (:skus::text[])
 ORDER BY l.sku, l.location
   FOR UPDATE OF l;

-- name: take(skus, locations, quantities, entries) :exec
UPDATE stock_level l
   SET reserved = l.reserved + n.quantity,
       version  = l.version + n.entries
  FROM unnest(:skus::text[], :locations::text[], :quantities::bigint[], :entries::bigint[])
       AS n(sku, location, quantity, entries)
 WHERE l.sku = n.sku AND l.location = n.location AND l.sku = ANY (:skus::text[]);
