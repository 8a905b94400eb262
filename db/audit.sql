-- SPDX-License-Identifier: Apache-2.0
-- The invariants, each as a query for the rows that break it.

-- name: looked_at() :one
SELECT (SELECT count(*) FROM stock_level) + (SELECT count(*) FROM movement)
     + (SELECT count(*) FROM reservation_line);

-- Units promised are the units of the open holds.
-- name: reserved_differs(row_count) :many
SELECT 'reserved-equals-holds', k.sku, k.location,
       format('reserved is %s, open holds come to %s', COALESCE(l.reserved, 0),
              COALESCE(h.units, 0))
  FROM (SELECT sku, location FROM stock_level
         UNION
        SELECT sku, location FROM reservation_line WHERE held_until IS NOT NULL) AS k
  LEFT JOIN stock_level l ON l.sku = k.sku AND l.location = k.location
  LEFT JOIN (SELECT sku, location, sum(quantity) AS units
               FROM reservation_line
              WHERE held_until IS NOT NULL
              GROUP BY sku, location) AS h ON h.sku = k.sku AND h.location = k.location
 WHERE COALESCE(l.reserved, 0) <> COALESCE(h.units, 0)
 LIMIT :row_count::bigint;

-- A level is the sum of its movements, and its version is their number.
-- name: level_differs(row_count) :many
SELECT 'level-equals-ledger', l.sku, l.location,
       format('on hand %s, reserved %s, version %s, but the ledger says %s, %s, %s', l.on_hand,
              l.reserved, l.version, COALESCE(m.on_hand, 0), COALESCE(m.reserved, 0),
              COALESCE(m.movements, 0))
  FROM stock_level l
  LEFT JOIN (SELECT sku, location, sum(on_hand_delta) AS on_hand, sum(reserved_delta) AS reserved,
                    count(*) AS movements
               FROM movement
              GROUP BY sku, location) AS m ON m.sku = l.sku AND m.location = l.location
 WHERE l.on_hand <> COALESCE(m.on_hand, 0) OR l.reserved <> COALESCE(m.reserved, 0)
    OR l.version <> COALESCE(m.movements, 0)
 LIMIT :row_count::bigint;

-- Each movement continues the one before it: no version is missing, no number jumps.
-- name: chain_breaks(row_count) :many
SELECT 'ledger-is-a-chain', c.sku, c.location,
       format('version %s does not continue the one before it', c.version)
  FROM (SELECT m.*,
               lag(version, 1, 0::bigint)  OVER w AS version_before,
               lag(on_hand, 1, 0::bigint)  OVER w AS on_hand_before,
               lag(reserved, 1, 0::bigint) OVER w AS reserved_before
          FROM movement m
        WINDOW w AS (PARTITION BY sku, location ORDER BY version)) AS c
 WHERE c.version <> c.version_before + 1
    OR c.on_hand <> c.on_hand_before + c.on_hand_delta
    OR c.reserved <> c.reserved_before + c.reserved_delta
 LIMIT :row_count::bigint;

-- Nobody was promised what was not there, but for what a count left short.
-- name: promised_too_much(row_count) :many
SELECT 'promises-are-backed', sku, location,
       format('reserved %s of %s on hand, %s short by a count', reserved, on_hand, shortage)
  FROM stock_level
 WHERE reserved > on_hand + shortage OR on_hand < 0 OR reserved < 0
 LIMIT :row_count::bigint;

-- What a reservation's lines say fits its state, and no line is without its reservation.
-- name: line_differs(row_count) :many
SELECT 'lines-fit-state', l.sku, l.location,
       format('reservation %s is %s with %s of %s confirmed, %s returned', l.reservation_id,
              COALESCE(r.state::text, 'missing'), l.confirmed, l.quantity, l.returned)
  FROM reservation_line l
  LEFT JOIN reservation r ON r.id = l.reservation_id
 WHERE r.id IS NULL
    OR (r.state = 'held' AND l.held_until IS DISTINCT FROM r.expires_at)
    OR (r.state <> 'held' AND l.held_until IS NOT NULL)
    OR (r.state <> 'confirmed' AND l.confirmed <> 0)
 LIMIT :row_count::bigint;

-- What left the shelves by sale is what reservations confirmed.
-- name: confirmed_differs(row_count) :many
SELECT 'confirmed-equals-ledger', COALESCE(m.sku, l.sku), COALESCE(m.location, l.location),
       format('the ledger sold %s and took back %s, reservations say %s and %s',
              COALESCE(m.sold, 0), COALESCE(m.back, 0), COALESCE(l.sold, 0), COALESCE(l.back, 0))
  FROM (SELECT sku, location,
               -sum(on_hand_delta) FILTER (WHERE kind = 'confirmed') AS sold,
               sum(on_hand_delta) FILTER (WHERE kind = 'returned') AS back
          FROM movement
         WHERE kind IN ('confirmed', 'returned')
         GROUP BY sku, location) AS m
  FULL JOIN (SELECT sku, location, sum(confirmed) AS sold, sum(restocked) AS back
               FROM reservation_line
              WHERE confirmed > 0
              GROUP BY sku, location) AS l ON l.sku = m.sku AND l.location = m.location
 WHERE COALESCE(m.sold, 0) <> COALESCE(l.sold, 0) OR COALESCE(m.back, 0) <> COALESCE(l.back, 0)
 LIMIT :row_count::bigint;

-- No customer has more than the limit allows. Only of items that were never changed since they were
-- made is it known under which limit each reservation was taken.
-- name: limit_passed(row_count) :many
SELECT 'limits-are-kept', i.sku, '',
       format('customer %s has %s of at most %s', u.customer, u.units, i.max_per_customer)
  FROM item i
  JOIN (SELECT l.sku, r.customer, sum(CASE WHEN r.state = 'confirmed' THEN l.confirmed - l.restocked
                                           ELSE l.quantity END) AS units
          FROM reservation r
          JOIN reservation_line l ON l.reservation_id = r.id
          JOIN item limited ON limited.sku = l.sku AND limited.max_per_customer IS NOT NULL
                        AND limited.updated_at = limited.created_at
         WHERE r.customer IS NOT NULL
           AND (r.state = 'confirmed' OR (r.state = 'held' AND r.expires_at > now()))
         GROUP BY l.sku, r.customer) AS u ON u.sku = i.sku
 WHERE u.units > i.max_per_customer
 LIMIT :row_count::bigint;
