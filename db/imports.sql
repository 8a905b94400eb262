-- SPDX-License-Identifier: Apache-2.0
-- What imports changed. One that is older than it is kept for is not there, removed or not.

-- name: write(id, mode, actor, row_count, created, changed, unchanged) :exec
INSERT INTO stock_import (id, mode, actor, row_count, created, changed, unchanged)
VALUES (:id::uuid, :mode, :actor, :row_count::bigint, :created::bigint, :changed::bigint,
        :unchanged::bigint);

-- name: write_levels(id, skus, locations, lines, deltas, versions) :exec
INSERT INTO stock_import_level (import_id, sku, location, line, on_hand_delta, version)
SELECT :id::uuid, n.*
  FROM unnest(:skus::text[], :locations::text[], :lines::bigint[], :deltas::bigint[],
              :versions::bigint[])
       AS n(sku, location, line, delta, version);

-- name: write_items(id, skus, names_before, names_after, on_sale_before, on_sale_after,
--     maxima_before, maxima_after, lows_before, lows_after) :exec
INSERT INTO stock_import_item (import_id, sku, name_before, name_after, on_sale_before,
                               on_sale_after, max_per_customer_before, max_per_customer_after,
                               low_stock_at_before, low_stock_at_after)
SELECT :id::uuid, n.*
  FROM unnest(:skus::text[], :names_before::text[], :names_after::text[],
              :on_sale_before::boolean[], :on_sale_after::boolean[], :maxima_before::bigint[],
              :maxima_after::bigint[], :lows_before::bigint[], :lows_after::bigint[]) AS n;

-- name: find(id, keep_seconds) :maybe
SELECT id, mode, actor, at, row_count, created, changed, unchanged, undone_by, undone_at
  FROM stock_import
 WHERE id = :id::uuid AND at >= now() - :keep_seconds::bigint * interval '1 second';

-- Whether it is undone. Nobody else undoes it until the transaction ends.
-- name: lock(id, keep_seconds) :maybe
SELECT undone_at IS NOT NULL
  FROM stock_import
 WHERE id = :id::uuid AND at >= now() - :keep_seconds::bigint * interval '1 second'
   FOR UPDATE;

-- Newest first.
-- name: list(before, keep_seconds, row_count) :many
SELECT id, mode, actor, at, row_count, created, changed, unchanged, undone_by, undone_at
  FROM stock_import
 WHERE id < :before::uuid AND at >= now() - :keep_seconds::bigint * interval '1 second'
 ORDER BY id DESC
 LIMIT :row_count::bigint;

-- In the global order.
-- name: levels(id) :many
SELECT sku, location, line, on_hand_delta, version
  FROM stock_import_level
 WHERE import_id = :id::uuid
 ORDER BY sku, location;

-- Notes which levels somebody has said a number for since: by a count or an adjustment, or by
-- another import that is not undone. Ask it under the locks of the levels. One look for each level;
-- there are few such words about one in 30 days.
-- name: supersede(id) :exec
UPDATE stock_import_level u
   SET superseded = true
  FROM (SELECT l.sku, l.location
          FROM stock_import i
          JOIN stock_import_level l ON l.import_id = i.id
         CROSS JOIN LATERAL (SELECT n.at
                               FROM stated_number n
                              WHERE n.sku = l.sku AND n.location = l.location
                                AND n.import_id IS DISTINCT FROM i.id AND NOT n.undone
                                AND CASE WHEN l.version IS NULL OR n.version IS NULL
                                         THEN n.at > i.at
                                         ELSE n.version >= l.version END
                              LIMIT 1) AS said
         WHERE i.id = :id::uuid) AS f
 WHERE u.import_id = :id::uuid AND u.sku = f.sku AND u.location = f.location;

-- What a superseded row did is behind what the next import said, where no person spoke in between:
-- whoever undoes that one as well is to get the level without either.
-- name: hand_on(id) :exec
UPDATE stock_import_level o
   SET on_hand_delta = o.on_hand_delta + f.on_hand_delta
  FROM (SELECT u.sku, u.location, u.on_hand_delta, said.import_id
          FROM stock_import_level u
         CROSS JOIN LATERAL (SELECT n.import_id, n.moved
                               FROM stated_number n
                              WHERE n.sku = u.sku AND n.location = u.location
                                AND n.import_id IS DISTINCT FROM u.import_id AND NOT n.undone
                                AND n.version >= u.version
                              ORDER BY n.version, n.moved DESC
                              LIMIT 1) AS said
         WHERE u.import_id = :id::uuid AND u.superseded AND said.moved) AS f
 WHERE o.import_id = f.import_id AND o.sku = f.sku AND o.location = f.location;

-- By their place in the file.
-- name: superseded(id, row_count) :many
SELECT sku, location, line, on_hand_delta, version
  FROM stock_import_level
 WHERE import_id = :id::uuid AND superseded
 ORDER BY line
 LIMIT :row_count::bigint;

-- What is to be moved back, in the global order.
-- name: standing(id) :many
SELECT sku, location, line, on_hand_delta, version
  FROM stock_import_level
 WHERE import_id = :id::uuid AND NOT superseded
 ORDER BY sku, location;

-- The items whose settings it wrote, in the order of their SKUs.
-- name: lock_items(id) :one
WITH locked AS MATERIALIZED (
    SELECT sku
      FROM item
     WHERE sku IN (SELECT s.sku FROM stock_import_item s WHERE s.import_id = :id::uuid)
     ORDER BY sku
       FOR NO KEY UPDATE
)
SELECT count(*)
  FROM locked;

-- Notes which settings are no longer what the import wrote. on_sale is either what it wrote or what
-- it was before.
-- name: keep_back(id) :exec
UPDATE stock_import_item s
   SET kept_back = n.names
  FROM (SELECT w.sku,
               concat_ws(' ',
                   CASE WHEN w.name_before IS DISTINCT FROM w.name_after
                         AND i.name IS DISTINCT FROM w.name_after
                         AND i.name IS DISTINCT FROM w.name_before
                        THEN 'name' END,
                   CASE WHEN w.max_per_customer_before IS DISTINCT FROM w.max_per_customer_after
                         AND i.max_per_customer IS DISTINCT FROM w.max_per_customer_after
                         AND i.max_per_customer IS DISTINCT FROM w.max_per_customer_before
                        THEN 'max_per_customer' END,
                   CASE WHEN w.low_stock_at_before IS DISTINCT FROM w.low_stock_at_after
                         AND i.low_stock_at IS DISTINCT FROM w.low_stock_at_after
                         AND i.low_stock_at IS DISTINCT FROM w.low_stock_at_before
                        THEN 'low_stock_at' END) AS names
          FROM stock_import_item w
          JOIN item i ON i.sku = w.sku
         WHERE w.import_id = :id::uuid) AS n
 WHERE s.import_id = :id::uuid AND s.sku = n.sku AND n.names <> '';

-- Every setting that is still what the import wrote becomes what it was before.
-- name: put_back(id) :exec
UPDATE item i
   SET name             = CASE WHEN i.name IS NOT DISTINCT FROM s.name_after
                               THEN s.name_before ELSE i.name END,
       on_sale          = CASE WHEN i.on_sale = s.on_sale_after
                               THEN s.on_sale_before ELSE i.on_sale END,
       max_per_customer = CASE WHEN i.max_per_customer IS NOT DISTINCT FROM s.max_per_customer_after
                               THEN s.max_per_customer_before ELSE i.max_per_customer END,
       low_stock_at     = CASE WHEN i.low_stock_at IS NOT DISTINCT FROM s.low_stock_at_after
                               THEN s.low_stock_at_before ELSE i.low_stock_at END,
       updated_at       = now()
  FROM stock_import_item s
 WHERE s.import_id = :id::uuid AND i.sku = s.sku;

-- Which of these items are paused because the import that made them was undone, and nobody has
-- touched their settings since: what is made or put back has the instant of its transaction.
-- name: withdrawn(skus) :many
SELECT i.sku
  FROM (SELECT DISTINCT u.sku
          FROM unnest(:skus::text[]) AS u(sku)) AS w
 CROSS JOIN LATERAL (SELECT s.sku, s.created_at, s.updated_at
                       FROM item s
                      WHERE s.sku = w.sku AND NOT s.on_sale
                      LIMIT 1) AS i
 WHERE EXISTS (SELECT
                 FROM stock_import made
                 JOIN stock_import_item k ON k.import_id = made.id
                WHERE made.at = i.created_at AND made.undone_at IS NOT NULL AND k.sku = i.sku
                LIMIT 1)
   AND EXISTS (SELECT
                 FROM stock_import last
                 JOIN stock_import_item k ON k.import_id = last.id
                WHERE last.undone_at = i.updated_at AND k.sku = i.sku
                  AND k.on_sale_after AND NOT k.on_sale_before
                LIMIT 1)
 ORDER BY i.sku;

-- name: close(id, actor) :exec
UPDATE stock_import
   SET undone_by = :actor, undone_at = now()
 WHERE id = :id::uuid;

-- name: kept_back(id, row_count) :many
SELECT sku, kept_back
  FROM stock_import_item
 WHERE import_id = :id::uuid AND kept_back <> ''
 ORDER BY sku
 LIMIT :row_count::bigint;

-- Of the oldest that is old enough: its levels, then its items, then itself.
-- name: forget_levels(keep_seconds, row_count) :exec
DELETE FROM stock_import_level
 WHERE (import_id, sku, location) IN
       (SELECT l.import_id, l.sku, l.location
          FROM stock_import_level l
         WHERE l.import_id = (SELECT id
                                FROM stock_import
                               WHERE at < now() - :keep_seconds::bigint * interval '1 second'
                               ORDER BY at
                               LIMIT 1)
         LIMIT :row_count::bigint
           FOR UPDATE SKIP LOCKED);

-- name: forget_items(keep_seconds, row_count) :exec
DELETE FROM stock_import_item
 WHERE (import_id, sku) IN
       (SELECT s.import_id, s.sku
          FROM stock_import_item s
         WHERE s.import_id = (SELECT id
                                FROM stock_import
                               WHERE at < now() - :keep_seconds::bigint * interval '1 second'
                               ORDER BY at
                               LIMIT 1)
         LIMIT :row_count::bigint
           FOR UPDATE SKIP LOCKED);

-- name: forget(keep_seconds) :exec
DELETE FROM stock_import i
 WHERE i.id = (SELECT id
                 FROM stock_import
                WHERE at < now() - :keep_seconds::bigint * interval '1 second'
                ORDER BY at
                LIMIT 1)
   AND NOT EXISTS (SELECT FROM stock_import_level l WHERE l.import_id = i.id LIMIT 1)
   AND NOT EXISTS (SELECT FROM stock_import_item s WHERE s.import_id = i.id LIMIT 1);
