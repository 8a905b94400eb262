-- SPDX-License-Identifier: Apache-2.0
-- What imports changed, kept for some time so that they can be undone; and what reports go by.

CREATE TABLE stock_import (
    id        uuid PRIMARY KEY,
    mode      text NOT NULL CHECK (mode IN ('set', 'add', 'count')),
    actor     text NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    row_count bigint NOT NULL,
    created   bigint NOT NULL,
    changed   bigint NOT NULL,
    unchanged bigint NOT NULL,
    undone_by text,
    undone_at timestamptz,
    CHECK ((undone_by IS NULL) = (undone_at IS NULL))
);

CREATE INDEX stock_import_at ON stock_import (at);

-- By how much each row moved its level; line is that of the file.
CREATE TABLE stock_import_level (
    import_id     uuid NOT NULL,
    sku           text COLLATE "C" NOT NULL,
    location      text COLLATE "C" NOT NULL,
    line          bigint NOT NULL,
    on_hand_delta bigint NOT NULL CHECK (on_hand_delta <> 0),
    PRIMARY KEY (import_id, sku, location)
);

-- Settings of the items that were changed or made, as they were and as the import left them. One
-- that was made counts as one that was not on sale before. kept_back names those that somebody had
-- changed again when it was undone. Neither table has a foreign key: only imports write them, a
-- hundred thousand rows at a time.
CREATE TABLE stock_import_item (
    import_id               uuid NOT NULL,
    sku                     text COLLATE "C" NOT NULL,
    name_before             text,
    name_after              text,
    on_sale_before          boolean NOT NULL,
    on_sale_after           boolean NOT NULL,
    max_per_customer_before bigint,
    max_per_customer_after  bigint,
    low_stock_at_before     bigint,
    low_stock_at_after      bigint,
    kept_back               text NOT NULL DEFAULT '',
    PRIMARY KEY (import_id, sku)
);

CREATE INDEX stock_import_item_kept ON stock_import_item (import_id, sku) WHERE kept_back <> '';

-- Items that say when they are low, for the report of those that are.
CREATE INDEX item_low ON item (sku) WHERE low_stock_at IS NOT NULL;

-- Movements of a period. The ledger is only appended to, so its pages are in the order of time: of
-- each 32 of them the first and the last instant are kept, which costs a sale next to nothing.
CREATE INDEX movement_at ON movement USING brin (at)
    WITH (pages_per_range = 32, autosummarize = on);
