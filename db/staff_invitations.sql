-- SPDX-License-Identifier: Apache-2.0
-- Links by which somebody becomes staff, known by the hashes of tokens.

-- name: make(hash, role, name, lifetime_seconds) :exec
INSERT INTO staff_invitation (hash, role, name, expires_at)
VALUES (:hash::bytea, :role, :name, now() + :lifetime_seconds::bigint * interval '1 second')
    ON CONFLICT (hash) DO NOTHING;

-- name: find(hash) :maybe
SELECT role, name
  FROM staff_invitation
 WHERE hash = :hash::bytea AND expires_at > now();

-- name: spend(hash) :exec
DELETE FROM staff_invitation
 WHERE hash = :hash::bytea;

-- What has expired, and of those for the first owner all but so many.
-- name: forget(first_kept) :exec
DELETE FROM staff_invitation
 WHERE expires_at <= now()
    OR (name IS NULL
        AND hash NOT IN (SELECT hash
                           FROM staff_invitation
                          WHERE name IS NULL
                          ORDER BY expires_at DESC
                          LIMIT :first_kept::bigint));
