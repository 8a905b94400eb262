-- SPDX-License-Identifier: Apache-2.0
-- A line of the ledger is looked up by SKU, location and version, and open holds by SKU, location
-- and time: PostgreSQL has to go by the indexes made for that. See docs/decisions/0015.

DROP INDEX movement_newest;
DROP INDEX reservation_line_held;

CREATE INDEX movement_newest ON movement (sku COLLATE "POSIX", id);
CREATE INDEX reservation_line_held
    ON reservation_line (sku COLLATE "POSIX", location COLLATE "POSIX", held_until)
    WHERE held_until IS NOT NULL;
