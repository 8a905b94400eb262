-- SPDX-License-Identifier: Apache-2.0
-- Items and their settings.

-- One look by the primary key for each. Asked for all of them at once, PostgreSQL goes by the index
-- of trigrams when the table has grown and is not analysed yet: a minute for 10 000 items.
-- name: by_skus(skus) :many
SELECT i.sku, i.name, i.on_sale, i.sale_starts_at, i.sale_ends_at, i.max_per_customer,
       i.low_stock_at, i.strategy, i.admission, i.admission_pool, i.admission_ttl_seconds
  FROM (SELECT DISTINCT u.sku
          FROM unnest(:skus::text[]) AS u(sku)) AS w
 CROSS JOIN LATERAL (SELECT s.sku, s.name, s.on_sale, s.sale_starts_at, s.sale_ends_at,
                            s.max_per_customer, s.low_stock_at, s.strategy, s.admission,
                            s.admission_pool, s.admission_ttl_seconds
                       FROM item s
                      WHERE s.sku = w.sku
                      LIMIT 1) AS i
 ORDER BY i.sku;

-- name: made_at(sku) :maybe
SELECT created_at
  FROM item
 WHERE sku = :sku;

-- The same, locked in the order of their SKUs.
-- name: lock(skus) :many
SELECT i.sku, i.name, i.on_sale, i.sale_starts_at, i.sale_ends_at, i.max_per_customer,
       i.low_stock_at, i.strategy, i.admission, i.admission_pool, i.admission_ttl_seconds
  FROM (SELECT DISTINCT u.sku COLLATE "C" AS sku
          FROM unnest(:skus::text[]) AS u(sku)
         ORDER BY 1) AS w
 CROSS JOIN LATERAL (SELECT s.sku, s.name, s.on_sale, s.sale_starts_at, s.sale_ends_at,
                            s.max_per_customer, s.low_stock_at, s.strategy, s.admission,
                            s.admission_pool, s.admission_ttl_seconds
                       FROM item s
                      WHERE s.sku = w.sku
                      LIMIT 1
                        FOR NO KEY UPDATE) AS i;

-- name: insert(skus, names, on_sales, sale_starts, sale_ends, maxima, lows, strategies, admissions,
--     pools, ttls) :exec
INSERT INTO item (sku, name, on_sale, sale_starts_at, sale_ends_at, max_per_customer, low_stock_at,
                  strategy, admission, admission_pool, admission_ttl_seconds)
SELECT *
  FROM unnest(:skus::text[], :names::text[], :on_sales::boolean[], :sale_starts::timestamptz[],
              :sale_ends::timestamptz[], :maxima::bigint[], :lows::bigint[], :strategies::text[],
              :admissions::text[], :pools::bigint[], :ttls::bigint[])
       AS n(sku, name, on_sale, sale_starts_at, sale_ends_at, max_per_customer, low_stock_at,
            strategy, admission, admission_pool, admission_ttl_seconds)
 ORDER BY n.sku
    ON CONFLICT (sku) DO NOTHING;

-- name: update(skus, names, on_sales, sale_starts, sale_ends, maxima, lows, strategies, admissions,
--     pools, ttls) :exec
UPDATE item i
   SET name                  = n.name,
       on_sale               = n.on_sale,
       sale_starts_at        = n.sale_starts_at,
       sale_ends_at          = n.sale_ends_at,
       max_per_customer      = n.max_per_customer,
       low_stock_at          = n.low_stock_at,
       strategy              = n.strategy,
       admission             = n.admission,
       admission_pool        = n.admission_pool,
       admission_ttl_seconds = n.admission_ttl_seconds,
       updated_at            = now()
  FROM unnest(:skus::text[], :names::text[], :on_sales::boolean[], :sale_starts::timestamptz[],
              :sale_ends::timestamptz[], :maxima::bigint[], :lows::bigint[], :strategies::text[],
              :admissions::text[], :pools::bigint[], :ttls::bigint[])
       AS n(sku, name, on_sale, sale_starts_at, sale_ends_at, max_per_customer, low_stock_at,
            strategy, admission, admission_pool, admission_ttl_seconds)
 WHERE i.sku = n.sku;

-- name: list(pattern, only_low, after, row_count) :many
SELECT i.sku, i.name, i.on_sale, i.sale_starts_at, i.sale_ends_at, i.max_per_customer,
       i.low_stock_at, i.strategy, i.admission, i.admission_pool, i.admission_ttl_seconds
  FROM item i
 WHERE i.sku > :after
   AND (:pattern::text IS NULL OR i.sku ILIKE :pattern OR i.name ILIKE :pattern)
   AND (NOT :only_low::boolean
        OR (i.low_stock_at IS NOT NULL
            AND i.low_stock_at >= (SELECT COALESCE(sum(GREATEST(0, l.on_hand - l.reserved
                                          + COALESCE((SELECT sum(h.quantity)
                                                        FROM reservation_line h
                                                       WHERE h.sku COLLATE "POSIX" = l.sku
                                                         AND h.location COLLATE "POSIX" = l.location
                                                         AND h.held_until <= now()), 0))), 0)
                                     FROM stock_level l
                                    WHERE l.sku = i.sku)))
 ORDER BY i.sku
 LIMIT :row_count::bigint;

-- By the index of trigrams. Those whose SKU begins with what is looked for come first.
-- name: search(pattern, prefix, only_low, after, row_count) :many
SELECT i.sku, i.name, i.on_sale, i.sale_starts_at, i.sale_ends_at, i.max_per_customer,
       i.low_stock_at, i.strategy, i.admission, i.admission_pool, i.admission_ttl_seconds
  FROM item i
 WHERE (i.sku ILIKE :pattern OR i.name ILIKE :pattern)
   AND (:after::text IS NULL
        OR (NOT i.sku ILIKE :prefix, i.sku)
           > (NOT :after::text COLLATE "C" ILIKE :prefix, :after::text COLLATE "C"))
   AND (NOT :only_low::boolean
        OR (i.low_stock_at IS NOT NULL
            AND i.low_stock_at >= (SELECT COALESCE(sum(GREATEST(0, l.on_hand - l.reserved
                                          + COALESCE((SELECT sum(h.quantity)
                                                        FROM reservation_line h
                                                       WHERE h.sku COLLATE "POSIX" = l.sku
                                                         AND h.location COLLATE "POSIX" = l.location
                                                         AND h.held_until <= now()), 0))), 0)
                                     FROM stock_level l
                                    WHERE l.sku = i.sku)))
 ORDER BY NOT i.sku ILIKE :prefix, i.sku
 LIMIT :row_count::bigint;

-- name: is_empty() :one
SELECT NOT EXISTS (SELECT FROM item);
