-- SPDX-License-Identifier: Apache-2.0
-- Counts of a shelf: what somebody counted, and what the level said at that moment.

-- name: open(id, name, location, sku_prefix, note, actor) :exec
INSERT INTO stock_count (id, name, location, sku_prefix, note, opened_by)
VALUES (:id::uuid, :name, :location, :sku_prefix, :note, :actor);

-- name: add_skus(id, skus) :exec
INSERT INTO stock_count_sku (count_id, sku)
SELECT :id::uuid, w.sku
  FROM unnest(:skus::text[]) AS w(sku);

-- name: find(id) :maybe
SELECT c.id, c.name, c.location, c.sku_prefix, c.note, c.state, c.opened_by, c.opened_at,
       c.closed_by, c.closed_at, e.entries, e.differing
  FROM stock_count c
 CROSS JOIN LATERAL (SELECT count(*) AS entries,
                            count(*) FILTER (WHERE counted <> on_hand) AS differing
                       FROM stock_count_entry
                      WHERE count_id = c.id) AS e
 WHERE c.id = :id::uuid;

-- Until the transaction ends nobody else enters anything, applies or cancels.
-- name: lock(id) :maybe
SELECT location, sku_prefix, state, opened_at, clock_timestamp()
  FROM stock_count
 WHERE id = :id::uuid
   FOR UPDATE;

-- Newest first. Of the two ways one is gone.
-- name: list(only_open, before, row_count) :many
SELECT c.id, c.name, c.location, c.sku_prefix, c.note, c.state, c.opened_by, c.opened_at,
       c.closed_by, c.closed_at, e.entries, e.differing
  FROM (SELECT id
          FROM (SELECT id
                  FROM stock_count
                 WHERE NOT :only_open::boolean AND id < :before::uuid
                 ORDER BY id DESC
                 LIMIT :row_count::bigint) AS of_all
         UNION ALL
        SELECT id
          FROM (SELECT id
                  FROM stock_count
                 WHERE :only_open::boolean AND state = 'open' AND id < :before::uuid
                 ORDER BY id DESC
                 LIMIT :row_count::bigint) AS of_open) AS found
  JOIN stock_count c ON c.id = found.id
 CROSS JOIN LATERAL (SELECT count(*) AS entries,
                            count(*) FILTER (WHERE counted <> on_hand) AS differing
                       FROM stock_count_entry
                      WHERE count_id = c.id) AS e
 ORDER BY c.id DESC;

-- name: skus(id) :many
SELECT sku
  FROM stock_count_sku
 WHERE count_id = :id::uuid
 ORDER BY sku;

-- What was counted, with the level of that moment: as it is now or, where an instant is given, as
-- the last movement until then left it. Versions have no gaps and time follows them, so that one is
-- found by halving, however often the level has moved.
-- name: enter(id, location, skus, quantities, instants, actor) :exec
WITH RECURSIVE asked AS (
    SELECT w.sku, w.quantity, w.counted_at,
           COALESCE(l.on_hand, 0) AS on_hand,
           COALESCE(l.version, 0) AS version
      FROM unnest(:skus::text[], :quantities::bigint[], :instants::timestamptz[])
           AS w(sku, quantity, counted_at)
      LEFT JOIN LATERAL (SELECT s.on_hand, s.version
                           FROM stock_level s
                          WHERE s.sku = w.sku AND s.location = :location
                          LIMIT 1) AS l ON true
), search AS (
    SELECT a.sku, a.quantity, a.counted_at, 0::bigint AS low, a.version AS high
      FROM asked a
     WHERE a.counted_at IS NOT NULL
     UNION ALL
    SELECT s.sku, s.quantity, s.counted_at,
           CASE WHEN m.at <= s.counted_at THEN m.version ELSE s.low END,
           CASE WHEN m.at <= s.counted_at THEN s.high ELSE m.version - 1 END
      FROM search s
     CROSS JOIN LATERAL (SELECT middle.version, middle.at
                           FROM movement middle
                          WHERE middle.sku = s.sku AND middle.location = :location
                            AND middle.version = (s.low + s.high + 1) / 2
                          LIMIT 1) AS m
     WHERE s.low < s.high
), seen AS (
    SELECT a.sku, a.quantity, a.on_hand, a.version, clock_timestamp() AS counted_at
      FROM asked a
     WHERE a.counted_at IS NULL
     UNION ALL
    SELECT s.sku, s.quantity, COALESCE(m.on_hand, 0), s.low, s.counted_at
      FROM search s
      LEFT JOIN LATERAL (SELECT past.on_hand
                           FROM movement past
                          WHERE past.sku = s.sku AND past.location = :location
                            AND past.version = s.low
                          LIMIT 1) AS m ON true
     WHERE s.low = s.high
)
INSERT INTO stock_count_entry AS e (count_id, sku, counted, on_hand, version, counted_at, actor)
SELECT :id::uuid, sku, quantity, on_hand, version, counted_at, :actor
  FROM seen
    ON CONFLICT (count_id, sku) DO UPDATE
   SET counted    = EXCLUDED.counted,
       on_hand    = EXCLUDED.on_hand,
       version    = EXCLUDED.version,
       counted_at = EXCLUDED.counted_at,
       actor      = EXCLUDED.actor;

-- name: take_back(id, skus) :exec
DELETE FROM stock_count_entry
 WHERE count_id = :id::uuid AND sku = ANY (:skus::text[]);

-- name: size(id) :one
SELECT count(*)
  FROM stock_count_entry
 WHERE count_id = :id::uuid;

-- By SKU: those asked for, or all. Until it is applied, an entry may be out of date: somebody has
-- said the level to be a number since, and what was missing then is not missing now. That is a
-- count, an adjustment or an import that stands; or an import was undone whose units the level had
-- when it was counted. The first subquery finds other counts by what they moved, as they were
-- stated for what they saw before.
-- name: entries(id, skus) :many
SELECT e.sku, e.counted, e.on_hand, e.version, e.counted_at, e.actor, e.applied_version,
       CASE WHEN c.state = 'open'
            THEN EXISTS (SELECT
                           FROM movement m
                          WHERE m.sku = e.sku AND m.location = c.location
                            AND m.version > e.version AND m.kind = 'counted'
                          LIMIT 1)
                 OR EXISTS (SELECT
                              FROM stated_number n
                             WHERE n.sku = e.sku AND n.location = c.location
                               AND NOT (n.moved AND n.undone)
                               AND CASE WHEN n.version = e.version OR n.version IS NULL
                                        THEN n.at > e.counted_at
                                        ELSE n.version > e.version END
                             LIMIT 1)
                 OR EXISTS (SELECT
                              FROM movement m
                             WHERE m.sku = e.sku AND m.location = c.location
                               AND m.version > e.version AND m.reason = 'undone'
                               AND NOT EXISTS (SELECT
                                                 FROM stock_import_level o
                                                WHERE o.sku = m.sku AND o.location = m.location
                                                  AND 'import-' || o.import_id = m.reference
                                                  AND o.version > e.version
                                                LIMIT 1)
                             LIMIT 1)
            ELSE false END
  FROM stock_count_entry e
  JOIN stock_count c ON c.id = e.count_id
 WHERE e.count_id = :id::uuid AND (:skus::text[] IS NULL OR e.sku = ANY (:skus::text[]))
 ORDER BY e.sku;

-- Levels of the location that nobody has counted yet. No SKU has a character behind the last one
-- of Unicode.
-- name: uncounted(id, location, sku_prefix, row_count) :many
SELECT l.sku
  FROM stock_level l
 WHERE l.sku >= :sku_prefix AND l.sku < :sku_prefix || chr(1114111) AND l.location = :location
   AND NOT EXISTS (SELECT
                     FROM stock_count_entry e
                    WHERE e.count_id = :id::uuid AND e.sku = l.sku
                    LIMIT 1)
 ORDER BY l.sku
 LIMIT :row_count::bigint;

-- name: close(id, state, actor) :exec
UPDATE stock_count
   SET state = :state, closed_by = :actor, closed_at = now()
 WHERE id = :id::uuid;

-- The versions that the entries gave their levels.
-- name: note_applied(id, skus, versions) :exec
UPDATE stock_count_entry e
   SET applied_version = n.version
  FROM unnest(:skus::text[], :versions::bigint[]) AS n(sku, version)
 WHERE e.count_id = :id::uuid AND e.sku = n.sku;
