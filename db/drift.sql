-- SPDX-License-Identifier: Apache-2.0
-- The history of numbers that nothing explains.

-- With the events of it. What stays wrong would fill the history, so where it is not repaired and
-- the same as the last of its level and kind, it is left out: the ledger at one version is told
-- once, the rest once an hour.
-- name: write(skus, locations, kinds, expecteds, founds, causes, repaireds, epochs, versions,
--     on_hands, reserveds) :exec
WITH finding AS MATERIALIZED (
    SELECT n.*
      FROM unnest(:skus::text[], :locations::text[], :kinds::text[], :expecteds::bigint[],
                  :founds::bigint[], :causes::text[], :repaireds::boolean[], :epochs::bigint[],
                  :versions::bigint[], :on_hands::bigint[], :reserveds::bigint[]) WITH ORDINALITY
           AS n(sku, location, kind, expected, found, cause, repaired, epoch, version, on_hand,
                reserved, place)
      LEFT JOIN LATERAL (SELECT *
                           FROM drift
                          WHERE drift.sku = n.sku AND drift.location = n.location
                            AND drift.kind = n.kind
                          ORDER BY drift.id DESC
                          LIMIT 1) AS last ON true
     WHERE n.repaired
        OR (last.expected, last.found, last.repaired)
           IS DISTINCT FROM (n.expected, n.found, n.repaired)
        OR CASE WHEN n.kind = 'ledger' THEN last.version <> n.version
                ELSE last.at < now() - interval '1 hour' END
), written AS (
    INSERT INTO drift (sku, location, kind, expected, found, cause, repaired, epoch, version,
                       on_hand, reserved)
    SELECT sku, location, kind, expected, found, cause, repaired, epoch, version, on_hand, reserved
      FROM finding
     ORDER BY place
    RETURNING id, sku, location, kind, version
)
INSERT INTO outbox (sku, location, first_version, last_version, drift_id)
SELECT sku, location, version, version, id
  FROM written
 WHERE kind IN ('available', 'ledger') AND location <> ''
 ORDER BY id;

-- name: newest(before, row_count) :many
SELECT id, sku, location, kind, expected, found, cause, repaired, at
  FROM drift
 WHERE id < :before::bigint
 ORDER BY id DESC
 LIMIT :row_count::bigint;

-- name: newest_of(sku, before, row_count) :many
SELECT id, sku, location, kind, expected, found, cause, repaired, at
  FROM drift
 WHERE sku = :sku AND id < :before::bigint
 ORDER BY id DESC
 LIMIT :row_count::bigint;

-- What was found last of each of these items, and not repaired because it was too much.
-- name: last_stops(skus) :many
SELECT d.sku, d.location, d.expected, d.found
  FROM unnest(:skus::text[]) AS w(sku)
 CROSS JOIN LATERAL (SELECT *
                       FROM drift
                      WHERE drift.sku = w.sku AND drift.kind = 'available' AND NOT drift.repaired
                      ORDER BY drift.id DESC
                      LIMIT 1) AS d;

-- name: forget(keep_seconds, row_count) :exec
DELETE FROM drift
 WHERE id IN (SELECT id
                FROM drift
               WHERE at < now() - :keep_seconds::bigint * interval '1 second'
               ORDER BY at
               LIMIT :row_count::bigint
                 FOR UPDATE SKIP LOCKED);
