-- SPDX-License-Identifier: Apache-2.0
-- Items whose rushes outgrow PostgreSQL have Redis stand before them. PostgreSQL decides whether
-- Redis may answer: only under the epoch that stands here, and every reservation looks at it.

CREATE SEQUENCE fast_path_epoch;

-- fast_epoch is empty while PostgreSQL serves the item alone: before Redis is loaded, and after
-- somebody met a Redis he could not rely on. For a moment after fast_closed_at others may still be
-- answered by Redis, so nobody is served past it. Not before fast_not_before it is loaded again;
-- the pause grows each time.
ALTER TABLE item
    ADD COLUMN fast_path       text CHECK (fast_path IN ('durable')),
    ADD COLUMN fast_buckets    integer CHECK (fast_buckets BETWEEN 1 AND 64),
    ADD COLUMN fast_epoch      bigint,
    ADD COLUMN fast_closed_at  timestamptz,
    ADD COLUMN fast_pause_ms   integer NOT NULL DEFAULT 0,
    ADD COLUMN fast_not_before timestamptz,
    ADD CHECK ((fast_path IS NULL) = (fast_buckets IS NULL)),
    ADD CHECK (fast_epoch IS NULL OR fast_path IS NOT NULL);

CREATE INDEX item_fast_path ON item (sku) WHERE fast_path IS NOT NULL;
