-- SPDX-License-Identifier: Apache-2.0
-- Look, then write only if the version is still the one seen.

-- name: look(sku, location) :maybe
SELECT on_hand, reserved, version
  FROM stock_level
 WHERE sku = :sku AND location = :location;

-- name: look_locked(sku, location) :maybe
SELECT on_hand, reserved, version
  FROM stock_level
 WHERE sku = :sku AND location = :location
   FOR UPDATE;

-- name: take(sku, location, quantity, version) :maybe
UPDATE stock_level
   SET reserved = reserved + :quantity::bigint,
       version  = version + 1
 WHERE sku = :sku AND location = :location
   AND version = :version::bigint
RETURNING on_hand, reserved, version;
