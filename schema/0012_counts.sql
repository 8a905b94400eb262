-- SPDX-License-Identifier: Apache-2.0
-- Counts of a shelf that go on while units are sold: what somebody counted, and what the level said
-- at that moment.

CREATE TABLE stock_count (
    id         uuid PRIMARY KEY,
    name       text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
    location   text COLLATE "C" NOT NULL CHECK (location ~ '^[a-z0-9_-]{1,50}$'),
    sku_prefix text COLLATE "C",
    note       text,
    state      text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'applied', 'cancelled')),
    opened_by  text NOT NULL,
    opened_at  timestamptz NOT NULL DEFAULT now(),
    closed_by  text,
    closed_at  timestamptz,
    CHECK ((state = 'open') = (closed_at IS NULL)),
    CHECK ((state = 'open') = (closed_by IS NULL))
);

CREATE INDEX stock_count_open ON stock_count (id) WHERE state = 'open';

-- What is to be counted, where it is a list.
CREATE TABLE stock_count_sku (
    count_id uuid NOT NULL REFERENCES stock_count,
    sku      text COLLATE "C" NOT NULL REFERENCES item,
    PRIMARY KEY (count_id, sku)
);

-- on_hand and version are the level's when it was counted. The difference to them is what is
-- applied, so that nothing is lost that happened since.
CREATE TABLE stock_count_entry (
    count_id        uuid NOT NULL REFERENCES stock_count,
    sku             text COLLATE "C" NOT NULL REFERENCES item,
    counted         bigint NOT NULL CHECK (counted BETWEEN 0 AND 9000000000000000),
    on_hand         bigint NOT NULL CHECK (on_hand BETWEEN 0 AND 9000000000000000),
    version         bigint NOT NULL CHECK (version >= 0),
    counted_at      timestamptz NOT NULL,
    actor           text NOT NULL,
    applied_version bigint CHECK (applied_version > version),
    PRIMARY KEY (count_id, sku)
);

-- Finds whether a level was counted again meanwhile. A sale is not in it, and pays for no more than
-- the question.
CREATE INDEX movement_counted ON movement (sku, location, version) WHERE kind = 'counted';
