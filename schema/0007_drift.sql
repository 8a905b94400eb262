-- SPDX-License-Identifier: Apache-2.0
-- Numbers that nothing explains are kept for a while, and told as events.

-- What was found wrong: expected by PostgreSQL, or by its ledger, and found. Version, on_hand and
-- reserved are those of the level at that moment. The location is empty when it is about the whole
-- item. Rows are written once; the janitor forgets old ones.
CREATE TABLE drift (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sku      text COLLATE "C" NOT NULL,
    location text COLLATE "C" NOT NULL,
    kind     text    NOT NULL CHECK (kind IN ('available', 'pending', 'ledger', 'stopped')),
    expected bigint  NOT NULL,
    found    bigint  NOT NULL,
    cause    text    NOT NULL,
    repaired boolean NOT NULL,
    epoch    bigint  NOT NULL,
    version  bigint  NOT NULL,
    on_hand  bigint  NOT NULL,
    reserved bigint  NOT NULL,
    at       timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX drift_newest ON drift (sku, id);
CREATE INDEX drift_level  ON drift (sku, location, kind, id);
CREATE INDEX drift_age    ON drift (at);

-- An entry that tells of a drift, not of movements: its versions are the one the level had.
ALTER TABLE outbox ADD COLUMN drift_id bigint;
