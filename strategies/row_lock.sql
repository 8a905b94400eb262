-- SPDX-License-Identifier: Apache-2.0
-- Writes all levels that were locked (levels.lock, SELECT ... FOR UPDATE) and looked at.

-- name: take(skus, locations, quantities, entries) :exec
UPDATE stock_level l
   SET reserved = l.reserved + n.quantity,
       version  = l.version + n.entries
  FROM unnest(:skus::text[], :locations::text[], :quantities::bigint[], :entries::bigint[])
       AS n(sku, location, quantity, entries)
 WHERE l.sku = n.sku AND l.location = n.location AND l.sku = ANY (:skus::text[]);
