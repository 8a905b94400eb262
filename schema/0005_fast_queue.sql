-- SPDX-License-Identifier: Apache-2.0
-- Items whose reservations Redis may accept by itself, to be committed a moment later.

-- fast_queues is how many buckets may have something in their queues; it outlives the mode until
-- they are empty.
ALTER TABLE item
    DROP CONSTRAINT item_fast_path_check,
    ADD CONSTRAINT item_fast_path_check CHECK (fast_path IN ('durable', 'async')),
    ADD COLUMN fast_queues integer CHECK (fast_queues BETWEEN 1 AND 64);

-- For whoever asks ten times a second which items these are.
DROP INDEX item_fast_path;
CREATE INDEX item_behind_redis ON item (sku)
    WHERE fast_path IS NOT NULL OR fast_queues IS NOT NULL;

-- Requests that Redis had accepted and that PostgreSQL then refused, or that cannot be committed
-- (code 'parked'): for whoever asks what has become of them.
CREATE TABLE unfulfilled (
    id         uuid PRIMARY KEY,
    code       text NOT NULL,
    detail     text NOT NULL,
    request    text NOT NULL,
    refused_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX unfulfilled_refused_at ON unfulfilled (refused_at);
