-- SPDX-License-Identifier: Apache-2.0
-- Staff: who they are, what they may do, and the hashes of their passwords.

-- Before any change but that of a password: there has to be an owner left, and people are few.
-- name: lock_list() :exec
SELECT pg_advisory_xact_lock(1751344228, 4);

-- name: is_empty() :one
SELECT NOT EXISTS (SELECT FROM staff);

-- Nothing when the name is taken, or when there are as many as there may be.
-- name: insert(id, name, folded, role, password, count_max) :maybe
INSERT INTO staff (id, name, folded, role, password)
SELECT :id::uuid, :name, :folded, :role, :password
 WHERE (SELECT count(*) FROM staff) < :count_max::bigint
    ON CONFLICT (folded) DO NOTHING
RETURNING id, name, role, created_at, disabled_at, revision;

-- name: by_id(id) :maybe
SELECT id, name, role, created_at, disabled_at, revision
  FROM staff
 WHERE id = :id::uuid;

-- name: list(after, row_count) :many
SELECT id, name, role, created_at, disabled_at, revision
  FROM staff
 WHERE id > :after::uuid
 ORDER BY id
 LIMIT :row_count::bigint;

-- name: is_last_owner(id) :one
SELECT EXISTS (SELECT
                 FROM staff
                WHERE id = :id::uuid AND role = 'owner' AND disabled_at IS NULL)
   AND NOT EXISTS (SELECT
                     FROM staff
                    WHERE id <> :id::uuid AND role = 'owner' AND disabled_at IS NULL);

-- Who is disabled already keeps that time.
-- name: change(id, role, is_disabled) :one
UPDATE staff
   SET role = :role, revision = revision + 1,
       disabled_at = CASE WHEN :is_disabled::boolean THEN COALESCE(disabled_at, now()) END
 WHERE id = :id::uuid
RETURNING id, name, role, created_at, disabled_at, revision;

-- name: remove(id) :exec
DELETE FROM staff
 WHERE id = :id::uuid;

-- name: password_of_name(folded) :maybe
SELECT id, name, password, disabled_at IS NULL, revision
  FROM staff
 WHERE folded = :folded;

-- name: password_of(id) :maybe
SELECT id, name, password, disabled_at IS NULL, revision
  FROM staff
 WHERE id = :id::uuid;

-- Only in place of the one given, when one is; or of the new one itself, when a commit's answer was
-- lost.
-- name: set_password(id, password, former) :exec
UPDATE staff
   SET password = :password, revision = revision + 1
 WHERE id = :id::uuid AND (:former::text IS NULL OR password IN (:former, :password));
