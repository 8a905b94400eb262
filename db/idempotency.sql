-- SPDX-License-Identifier: Apache-2.0
-- Keys of requests, and the lock that makes a duplicate wait for the first.

-- Waits no longer than lock_timeout.
-- name: wait(lock_number) :exec
SELECT pg_advisory_xact_lock(:lock_number::bigint);

-- name: find(api_key_id, key) :maybe
SELECT k.fingerprint, k.kept
  FROM idempotency_key k
 WHERE k.api_key_id = :api_key_id::bigint AND k.key = :key
 UNION ALL
SELECT r.fingerprint, NULL
  FROM reservation r
 WHERE r.api_key_id = :api_key_id::bigint AND r.idempotency_key = :key;

-- name: keep(api_key_id, key, fingerprint, kept) :exec
INSERT INTO idempotency_key (api_key_id, key, fingerprint, kept)
VALUES (:api_key_id::bigint, :key, :fingerprint::bytea, :kept);

-- Forgets the oldest of those that are older.
-- name: forget(keep_seconds, row_count) :exec
DELETE FROM idempotency_key
 WHERE ctid IN (SELECT ctid
                  FROM idempotency_key
                 WHERE created_at < now() - :keep_seconds::bigint * interval '1 second'
                 ORDER BY created_at
                 LIMIT :row_count::bigint
                   FOR UPDATE SKIP LOCKED);
