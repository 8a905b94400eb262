-- SPDX-License-Identifier: Apache-2.0
-- What is known of the schema that a database has.

-- name: applied() :many
SELECT number, checksum
  FROM schema_migration
 ORDER BY number;

-- name: has_table() :one
SELECT to_regclass('schema_migration') IS NOT NULL;

-- name: try_lock() :one
SELECT pg_try_advisory_lock(7236828793);

-- name: unlock() :one
SELECT pg_advisory_unlock(7236828793);

-- name: remember(number, name, checksum) :exec
INSERT INTO schema_migration (number, name, checksum)
VALUES (:number, :name, :checksum);
