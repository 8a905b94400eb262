-- SPDX-License-Identifier: Apache-2.0
-- The guard stands in the WHERE: PostgreSQL looks and writes under one row lock, the row count
-- decides.

-- name: take(sku, location, quantity) :maybe
UPDATE stock_level
   SET reserved = reserved + :quantity::bigint,
       version  = version + 1
 WHERE sku = :sku AND location = :location
   AND on_hand - reserved >= :quantity::bigint
RETURNING on_hand, reserved, version;
