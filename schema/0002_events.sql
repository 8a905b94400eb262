-- SPDX-License-Identifier: Apache-2.0
-- Holds whose time has passed are found by their time alone, and changes are told in one order.

CREATE INDEX reservation_line_due ON reservation_line (held_until) WHERE held_until IS NOT NULL;

-- Keys are forgotten by their age.
CREATE INDEX idempotency_key_age ON idempotency_key (created_at);

-- The item's threshold when the change was made: an edge that was told stays where it was, whatever
-- the setting is later.
ALTER TABLE outbox ADD COLUMN low_stock_at bigint;

-- The order of telling. An id of the outbox is given when its row is written and seen when that is
-- committed, so the order of ids passes late commits by. A position is given after the commit, to a
-- run of ids at a time, without gaps.
CREATE TABLE feed (
    position bigint PRIMARY KEY,
    first_id bigint NOT NULL,
    last_id  bigint NOT NULL,
    told_at  timestamptz NOT NULL DEFAULT now(),
    CHECK (first_id <= last_id)
);

CREATE INDEX feed_told_at ON feed (told_at);

-- One row: the last position given, and the highest id that has one.
CREATE TABLE feed_head (
    is_only  boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    position bigint NOT NULL,
    last_id  bigint NOT NULL
);

INSERT INTO feed_head (position, last_id) VALUES (0, 0);

-- Ids below feed_head.last_id that were not to be seen: of transactions under way, or rolled back.
-- All that may still fill them began before the transaction `horizon`.
CREATE TABLE feed_gap (
    first_id bigint NOT NULL,
    last_id  bigint NOT NULL,
    horizon  bigint NOT NULL
);
