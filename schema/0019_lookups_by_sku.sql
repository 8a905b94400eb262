-- SPDX-License-Identifier: Apache-2.0
-- A line of the ledger is looked up by SKU, location and version, and open holds by SKU, location
-- and time: PostgreSQL has to go by the indexes made for that. While its statistics are old, as
-- after a catalogue was loaded and a rush has begun, any index that has the SKU in it looked as good
-- to it, and then all that ever happened to the SKU was read for one line. An index of another
-- collation is used by whoever names that collation, and by nobody else (PostgreSQL 15, section
-- 11.11); POSIX orders as C does. So the lines of a SKU by id, and open holds by level, are asked for
-- with it.

DROP INDEX movement_newest;
DROP INDEX reservation_line_held;

CREATE INDEX movement_newest ON movement (sku COLLATE "POSIX", id);
CREATE INDEX reservation_line_held
    ON reservation_line (sku COLLATE "POSIX", location COLLATE "POSIX", held_until)
    WHERE held_until IS NOT NULL;
