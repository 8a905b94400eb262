-- SPDX-License-Identifier: Apache-2.0
-- What managers want to know of all items at once. Each looks at a bounded number of rows, along an
-- index.

-- By SKU, of the next items that say when they are low. Holds whose time has passed do not count.
-- Sums stop at the largest bigint, as they do where an item is shown.
-- name: low_stock(after, looked_max, row_count) :many
SELECT w.sku, w.name, w.low_stock_at, t.on_hand, t.reserved, t.available
  FROM (SELECT i.sku, i.name, i.low_stock_at
          FROM item i
         WHERE i.low_stock_at IS NOT NULL AND i.sku > :after
         ORDER BY i.sku
         LIMIT :looked_max::bigint) AS w
 CROSS JOIN LATERAL (SELECT LEAST(COALESCE(sum(l.on_hand), 0),
                                  9223372036854775807)::bigint AS on_hand,
                            LEAST(COALESCE(sum(l.reserved - h.due), 0),
                                  9223372036854775807)::bigint AS reserved,
                            LEAST(COALESCE(sum(GREATEST(0, l.on_hand - l.reserved + h.due)), 0),
                                  9223372036854775807)::bigint AS available
                       FROM stock_level l
                      CROSS JOIN LATERAL (SELECT COALESCE(sum(d.quantity), 0) AS due
                                            FROM reservation_line d
                                           WHERE d.sku COLLATE "POSIX" = l.sku
                                             AND d.location COLLATE "POSIX" = l.location
                                             AND d.held_until <= now()) AS h
                      WHERE l.sku = w.sku) AS t
 WHERE t.available <= w.low_stock_at
 ORDER BY w.sku
 LIMIT :row_count::bigint;

-- The last of the items looked at, if there may be more behind it.
-- name: low_stock_edge(after, looked_max) :maybe
SELECT i.sku
  FROM item i
 WHERE i.low_stock_at IS NOT NULL AND i.sku > :after
 ORDER BY i.sku
OFFSET :looked_max::bigint - 1
 LIMIT 1;

-- Open lines of reservations, counted no further than this.
-- name: open_lines(count_max) :one
SELECT count(*)
  FROM (SELECT
          FROM reservation_line
         WHERE held_until > now()
         LIMIT :count_max::bigint) AS counted;

-- The reservations of open lines, the oldest first: their ids are in the order of time.
-- name: held_longest(after, looked_max, row_count) :many
SELECT r.id, r.created_at, r.expires_at, r.customer, r.reference, o.lines, o.quantity
  FROM (SELECT reservation_id, count(*) AS lines, sum(quantity)::bigint AS quantity
          FROM (SELECT reservation_id, quantity
                  FROM reservation_line
                 WHERE held_until > now()
                 ORDER BY held_until
                 LIMIT :looked_max::bigint) AS looked
         WHERE reservation_id > :after::uuid
         GROUP BY reservation_id
         ORDER BY reservation_id
         LIMIT :row_count::bigint) AS o
  JOIN reservation r ON r.id = o.reservation_id
 ORDER BY r.id;

-- Movements of a period, counted no further than this.
-- name: movements(since, until, count_max) :one
SELECT count(*)
  FROM (SELECT
          FROM movement
         WHERE at >= :since::timestamptz AND at < :until::timestamptz
         LIMIT :count_max::bigint) AS counted;

-- Counted no further than this: a release may give any reason.
-- name: sums_by_reason(since, until, row_count) :many
SELECT NULL::text, m.kind, m.reason, count(*), sum(m.on_hand_delta)::text,
       sum(m.reserved_delta)::text
  FROM movement m
 WHERE m.at >= :since::timestamptz AND m.at < :until::timestamptz
 GROUP BY m.kind, m.reason
 ORDER BY m.kind, m.reason
 LIMIT :row_count::bigint;

-- The same for each of the next SKUs.
-- name: sums_by_sku(since, until, after, sku_count, row_count) :many
SELECT s.sku, s.kind, s.reason, s.movements, s.on_hand_delta::text, s.reserved_delta::text
  FROM (SELECT m.sku, m.kind, m.reason, count(*) AS movements,
               sum(m.on_hand_delta) AS on_hand_delta, sum(m.reserved_delta) AS reserved_delta,
               dense_rank() OVER (ORDER BY m.sku) AS place
          FROM movement m
         WHERE m.at >= :since::timestamptz AND m.at < :until::timestamptz AND m.sku > :after
         GROUP BY m.sku, m.kind, m.reason) AS s
 WHERE s.place <= :sku_count::bigint
 ORDER BY s.sku, s.kind, s.reason
 LIMIT :row_count::bigint;
