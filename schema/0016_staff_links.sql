-- SPDX-License-Identifier: Apache-2.0
-- A link may also give an account that is there another password. And there is one link at most for
-- a name, and one for an account: a new one voids the last.

-- `folded` is set where the link makes an account of that name, `staff_id` where there is one.
ALTER TABLE staff_invitation
    ADD COLUMN folded   text COLLATE "C" UNIQUE,
    ADD COLUMN staff_id uuid UNIQUE REFERENCES staff ON DELETE CASCADE;

DELETE FROM staff_invitation earlier
 USING staff_invitation later
 WHERE lower(earlier.name) = lower(later.name)
   AND (earlier.expires_at, earlier.hash) < (later.expires_at, later.hash);

UPDATE staff_invitation
   SET folded = lower(name)
 WHERE name IS NOT NULL;

ALTER TABLE staff_invitation
    ADD CHECK (CASE WHEN name IS NULL THEN num_nonnulls(folded, staff_id) = 0
                    ELSE num_nonnulls(folded, staff_id) = 1 END);
