-- SPDX-License-Identifier: Apache-2.0
-- The secret that tokens are signed with, the tokens that are spent, and what an item says of them.

-- name: make_secret(name, bytes) :exec
INSERT INTO secret (name, bytes)
VALUES (:name, :bytes::bytea)
    ON CONFLICT (name) DO NOTHING;

-- name: find_secret(name) :maybe
SELECT bytes
  FROM secret
 WHERE name = :name;

-- name: rules(sku) :maybe
SELECT admission IS NOT NULL, on_sale AND COALESCE(sale_ends_at > now(), true), admission_pool,
       admission_ttl_seconds
  FROM item
 WHERE sku = :sku;

-- Waits for whoever is about to spend the same token.
-- name: spend(id, reservation_id, expires_at) :exec
INSERT INTO spent_token (id, reservation_id, expires_at)
VALUES (:id::uuid, :reservation_id::uuid, :expires_at::timestamptz)
    ON CONFLICT (id) DO NOTHING;

-- Forgets the oldest of those that are over for so long.
-- name: forget(keep_seconds, row_count) :exec
DELETE FROM spent_token
 WHERE id = ANY (ARRAY(SELECT id
                         FROM spent_token
                        WHERE expires_at < now() - :keep_seconds::bigint * interval '1 second'
                        ORDER BY expires_at
                        LIMIT :row_count::bigint
                          FOR UPDATE SKIP LOCKED));
