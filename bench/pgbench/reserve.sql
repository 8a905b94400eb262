-- SPDX-License-Identifier: Apache-2.0
-- One reservation of one unit, with everything the service writes for it, as one statement in one
-- transaction of its own: the best an application that opens a transaction a request can do. Run by
-- pgbench; "items" is how many different SKUs there are to choose from.
\set item random(1, :items)
WITH level AS (
    UPDATE stock_level
       SET reserved = reserved + 1,
           version  = version + 1
     WHERE sku = 'SKU-' || lpad(:item::text, 5, '0') AND location = 'main'
       AND on_hand - reserved >= 1
    RETURNING sku, location, on_hand, reserved, version
), made AS (
    -- The id is ordered by time, as the service's are: random ones would scatter the index.
    INSERT INTO reservation (id, api_key_id, idempotency_key, fingerprint, expires_at)
    SELECT n.id, 1, n.id::text, '\x00112233445566778899aabbccddeeff',
           now() + 900 * interval '1 second'
      FROM level
     CROSS JOIN (SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint),
                              12, '0')
                         || substr(gen_random_uuid()::text, 14))::uuid AS id) AS n
    RETURNING id, created_at, expires_at
), line AS (
    INSERT INTO reservation_line (reservation_id, sku, location, quantity, held_until)
    SELECT made.id, level.sku, level.location, 1, made.expires_at
      FROM made
     CROSS JOIN level
), moved AS (
    INSERT INTO movement (sku, location, version, kind, on_hand_delta, reserved_delta, on_hand,
                          reserved, reservation_id, actor)
    SELECT level.sku, level.location, level.version, 'reserved', 0, 1, level.on_hand,
           level.reserved, made.id, 'pgbench'
      FROM made
     CROSS JOIN level
), told AS (
    INSERT INTO outbox (sku, location, first_version, last_version)
    SELECT level.sku, level.location, level.version, level.version
      FROM level
)
SELECT made.id, made.created_at, made.expires_at
  FROM made;
