-- SPDX-License-Identifier: Apache-2.0
-- Links by which somebody becomes staff or gets another password, known by the hashes of tokens.

-- For the first owner without a name.
-- name: make(hash, role, name, folded, lifetime_seconds) :exec
INSERT INTO staff_invitation (hash, role, name, folded, expires_at)
VALUES (:hash::bytea, :role, :name, :folded,
        now() + :lifetime_seconds::bigint * interval '1 second')
    ON CONFLICT (hash) DO NOTHING;

-- For an account, in place of the link it may have. Nothing when there is no such account.
-- name: make_for(hash, staff_id, made_by, lifetime_seconds) :maybe
INSERT INTO staff_invitation (hash, role, name, staff_id, made_by, expires_at)
SELECT :hash::bytea, role, name, id, :made_by::uuid,
       now() + :lifetime_seconds::bigint * interval '1 second'
  FROM staff
 WHERE id = :staff_id::uuid
    ON CONFLICT (staff_id) DO UPDATE SET hash = EXCLUDED.hash, made_by = EXCLUDED.made_by,
                                         expires_at = EXCLUDED.expires_at
RETURNING name, expires_at;

-- name: find(hash) :maybe
SELECT role, name, staff_id, made_by
  FROM staff_invitation i
 WHERE hash = :hash::bytea AND expires_at > now()
   AND NOT EXISTS (SELECT
                     FROM staff s
                    WHERE s.id = i.staff_id AND s.disabled_at IS NOT NULL);

-- Those that would make an account of this name.
-- name: void_name(folded) :exec
DELETE FROM staff_invitation
 WHERE folded = :folded;

-- That of an account that is there.
-- name: void_account(staff_id) :exec
DELETE FROM staff_invitation
 WHERE staff_id = :staff_id::uuid;

-- Those a person made. A person who is removed takes them along.
-- name: void_made_by(staff_id) :exec
DELETE FROM staff_invitation
 WHERE made_by = :staff_id::uuid;

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
