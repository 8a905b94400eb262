-- SPDX-License-Identifier: Apache-2.0
-- API keys, known by their hashes.

-- name: ensure(name, role, hash) :maybe
INSERT INTO api_key (name, role, hash)
VALUES (:name, :role, :hash::bytea)
    ON CONFLICT (hash) DO NOTHING
RETURNING id, created_at;

-- name: is_active(hash) :one
SELECT EXISTS (SELECT FROM api_key WHERE hash = :hash::bytea AND revoked_at IS NULL);

-- name: active() :many
SELECT id, name, role, encode(hash, 'hex')
  FROM api_key
 WHERE revoked_at IS NULL;

-- name: list(after, row_count) :many
SELECT id, name, role, created_at, revoked_at
  FROM api_key
 WHERE id > :after::bigint
 ORDER BY id
 LIMIT :row_count::bigint;

-- Also one that was revoked at the instant given.
-- name: revoke(id, earlier) :maybe
UPDATE api_key
   SET revoked_at = now()
 WHERE id = :id::bigint AND (revoked_at IS NULL OR revoked_at = :earlier::timestamptz)
RETURNING revoked_at, name, role;
