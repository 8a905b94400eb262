-- SPDX-License-Identifier: Apache-2.0
-- Stock levels: the rows everything else is guarded by. Always locked by (sku, location) in byte
-- order.

-- name: lock(skus, locations) :many
SELECT l.sku, l.location, l.on_hand, l.reserved, l.version
  FROM stock_level l
 WHERE (l.sku, l.location) IN (SELECT w.sku, w.location
                                 FROM unnest(:skus::text[], :locations::text[]) AS w(sku, location))
   AND l.sku = ANY (:skus::text[])
 ORDER BY l.sku, l.location
   FOR UPDATE OF l;

-- name: write(skus, locations, on_hands, reserveds, versions, may_be_short) :exec
UPDATE stock_level l
   SET on_hand  = n.on_hand,
       reserved = n.reserved,
       version  = n.version,
       shortage = CASE WHEN n.may_be_short THEN GREATEST(0, n.reserved - n.on_hand)
                       ELSE LEAST(l.shortage, GREATEST(0, n.reserved - n.on_hand)) END
  FROM unnest(:skus::text[], :locations::text[], :on_hands::bigint[], :reserveds::bigint[],
              :versions::bigint[], :may_be_short::boolean[])
       AS n(sku, location, on_hand, reserved, version, may_be_short)
 WHERE l.sku = n.sku AND l.location = n.location AND l.sku = ANY (:skus::text[]);

-- Notes the last word about levels: a later one replaces it. Of two about one version that of a
-- person stays for as long as there is one, and the time is that of the last: an entry of a count
-- goes by it.
-- name: state(skus, locations, versions, import_id) :exec
INSERT INTO level_stated AS s (sku, location, version, at, import_id)
SELECT n.sku, n.location, n.version, clock_timestamp(), :import_id::uuid
  FROM unnest(:skus::text[], :locations::text[], :versions::bigint[]) AS n(sku, location, version)
 ORDER BY n.sku COLLATE "C", n.location COLLATE "C"
    ON CONFLICT (sku, location) DO UPDATE
   SET version = EXCLUDED.version, at = EXCLUDED.at,
       import_id = CASE WHEN EXCLUDED.version = s.version AND EXCLUDED.import_id IS NOT NULL
                        THEN s.import_id ELSE EXCLUDED.import_id END
 WHERE EXCLUDED.version >= s.version;

-- name: create(skus, locations) :exec
INSERT INTO stock_level (sku, location)
SELECT n.sku, n.location
  FROM unnest(:skus::text[], :locations::text[]) AS n(sku, location)
 ORDER BY n.sku, n.location
    ON CONFLICT DO NOTHING;

-- name: free(skus, locations) :many
SELECT w.sku,
       w.location,
       COALESCE(l.on_hand - l.reserved, 0),
       COALESCE((SELECT sum(h.quantity)
                   FROM reservation_line h
                  WHERE h.sku COLLATE "POSIX" = w.sku AND h.location COLLATE "POSIX" = w.location
                    AND h.held_until <= now()), 0)::bigint
  FROM unnest(:skus::text[], :locations::text[]) WITH ORDINALITY AS w(sku, location, place)
  LEFT JOIN LATERAL (SELECT s.on_hand, s.reserved
                       FROM stock_level s
                      WHERE s.sku = w.sku AND s.location = w.location
                      LIMIT 1) AS l ON true
 ORDER BY w.place;

-- name: of_items(skus) :many
SELECT l.sku,
       l.location,
       l.on_hand,
       l.reserved - COALESCE((SELECT sum(h.quantity)
                                FROM reservation_line h
                               WHERE h.sku COLLATE "POSIX" = l.sku
                                 AND h.location COLLATE "POSIX" = l.location
                                 AND h.held_until <= now()), 0)::bigint,
       l.version
  FROM stock_level l
 WHERE l.sku = ANY (:skus::text[])
 ORDER BY l.sku, l.location;
