-- SPDX-License-Identifier: Apache-2.0
-- A link ends with the right of whoever made it. Links of the service and of its command line have
-- no maker.

ALTER TABLE staff_invitation
    ADD COLUMN made_by uuid REFERENCES staff ON DELETE CASCADE;

-- Those for accounts that are there were made by owners, of whom nobody knows any more which.
DELETE FROM staff_invitation
 WHERE staff_id IS NOT NULL;
