-- SPDX-License-Identifier: Apache-2.0
-- Where staff is signed in, known by the hashes of tokens.

-- Only while the account is as it was when its password was looked at. One person's sign-ins wait
-- for each other, so that they can be counted.
-- name: open(hash, staff_id, revision, lifetime_seconds) :exec
INSERT INTO staff_session (hash, staff_id, expires_at)
SELECT :hash::bytea, id, now() + :lifetime_seconds::bigint * interval '1 second'
  FROM staff
 WHERE id = :staff_id::uuid AND revision = :revision::bigint AND disabled_at IS NULL
   FOR NO KEY UPDATE
    ON CONFLICT (hash) DO UPDATE SET last_seen_at = now();

-- Ends what has expired, and the oldest beyond so many.
-- name: trim(staff_id, count_max) :exec
DELETE FROM staff_session
 WHERE staff_id = :staff_id::uuid
   AND (expires_at <= now()
        OR hash IN (SELECT hash
                      FROM staff_session
                     WHERE staff_id = :staff_id::uuid
                     ORDER BY created_at DESC, hash
                    OFFSET :count_max::bigint));

-- name: find(hash, idle_seconds) :maybe
SELECT s.id, s.number, s.name, s.role, t.last_seen_at < now() - interval '1 minute'
  FROM staff_session t
  JOIN staff s ON s.id = t.staff_id
 WHERE t.hash = :hash::bytea AND t.expires_at > now() AND s.disabled_at IS NULL
   AND t.last_seen_at > now() - :idle_seconds::bigint * interval '1 second';

-- name: touch(hash) :exec
UPDATE staff_session
   SET last_seen_at = now()
 WHERE hash = :hash::bytea;

-- name: end(hash) :exec
DELETE FROM staff_session
 WHERE hash = :hash::bytea;

-- All of a person, but the one given.
-- name: end_all(staff_id, but) :exec
DELETE FROM staff_session
 WHERE staff_id = :staff_id::uuid AND hash IS DISTINCT FROM :but::bytea;
