-- SPDX-License-Identifier: Apache-2.0
-- Many takers of one level share one write. It needs no order: the guard in the WHERE decides, as
-- in conditional_update.

-- name: take(sku, location, quantity, entries) :maybe
UPDATE stock_level
   SET reserved = reserved + :quantity::bigint,
       version  = version + :entries::bigint
 WHERE sku = :sku AND location = :location
   AND on_hand - reserved >= :quantity::bigint
RETURNING on_hand, reserved, version;

-- When the level has moved on, it gets no version, which its NOT NULL refuses (SQLSTATE 23502).
-- That ends a transaction whose other statements, sent along, count on it.
-- name: take_as_seen(sku, location, quantity, entries, seen_version) :exec
UPDATE stock_level
   SET reserved = reserved + :quantity::bigint,
       version  = CASE WHEN version = :seen_version::bigint THEN version + :entries::bigint END
 WHERE sku = :sku AND location = :location;
