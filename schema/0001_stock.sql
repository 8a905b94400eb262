-- SPDX-License-Identifier: Apache-2.0
-- Stock, promises of it, and the ledger that explains every number. The invariants are
-- constraints, so that every path meets them, even a typo in psql.

CREATE TYPE reservation_state AS ENUM ('held', 'confirmed', 'released', 'expired');

CREATE TYPE movement_kind AS ENUM (
    'received', 'adjusted', 'counted', 'reserved', 'confirmed', 'released', 'expired', 'returned'
);

-- What is sold, under which rules. Names sort by their bytes everywhere (COLLATE "C"): the order
-- of SKUs is the order of locks, and must be the same in every program and every locale.
CREATE TABLE item (
    sku              text COLLATE "C" PRIMARY KEY,
    name             text,
    on_sale          boolean     NOT NULL DEFAULT true,
    sale_starts_at   timestamptz,
    sale_ends_at     timestamptz,
    max_per_customer bigint,
    low_stock_at     bigint,
    strategy         text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    CHECK (char_length(sku) BETWEEN 1 AND 100),
    CHECK (sale_ends_at > sale_starts_at),
    CHECK (max_per_customer >= 1),
    CHECK (low_stock_at >= 0)
);

-- The gate: one row per SKU and location. shortage is what an honest count left short: it lets
-- reserved stand above on_hand by that much and no more. No index names a counter, so updates stay
-- HOT.
CREATE TABLE stock_level (
    sku      text COLLATE "C" NOT NULL REFERENCES item,
    location text COLLATE "C" NOT NULL,
    on_hand  bigint NOT NULL DEFAULT 0,
    reserved bigint NOT NULL DEFAULT 0,
    shortage bigint NOT NULL DEFAULT 0,
    version  bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (sku, location),
    CHECK (location ~ '^[a-z0-9_-]{1,50}$'),
    CONSTRAINT on_hand_in_bounds     CHECK (on_hand BETWEEN 0 AND 9000000000000000),
    CONSTRAINT reserved_not_negative CHECK (reserved >= 0),
    CONSTRAINT shortage_not_negative CHECK (shortage >= 0),
    CONSTRAINT reserved_is_backed    CHECK (reserved <= on_hand + shortage)
) WITH (fillfactor = 50);

CREATE TABLE api_key (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text        NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    role       text        NOT NULL CHECK (role IN ('viewer', 'shop', 'admin')),
    hash       bytea       NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz
);

CREATE TABLE reservation (
    id              uuid PRIMARY KEY,
    state           reservation_state NOT NULL DEFAULT 'held',
    api_key_id      bigint NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    fingerprint     bytea NOT NULL,
    customer        text COLLATE "C",
    reference       text COLLATE "C",
    metadata        text NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz NOT NULL,
    settled_at      timestamptz,
    supersedes      uuid,
    superseded_by   uuid,
    CONSTRAINT reservation_key UNIQUE (api_key_id, idempotency_key),
    CHECK ((state = 'held') = (settled_at IS NULL))
) WITH (fillfactor = 90);

CREATE INDEX reservation_customer  ON reservation (customer, id)  WHERE customer IS NOT NULL;
CREATE INDEX reservation_reference ON reservation (reference, id) WHERE reference IS NOT NULL;

-- held_until repeats the reservation's expires_at while it is held and is empty afterwards: it
-- finds the open and the due holds of one level without reading any settled line. No foreign key:
-- a line is only ever written by the statement that writes its reservation, nothing deletes one
-- without the other, and the check would cost as much as an index. The audit looks.
CREATE TABLE reservation_line (
    reservation_id uuid NOT NULL,
    sku            text COLLATE "C" NOT NULL,
    location       text COLLATE "C" NOT NULL,
    quantity       bigint NOT NULL CHECK (quantity >= 1),
    confirmed      bigint NOT NULL DEFAULT 0,
    returned       bigint NOT NULL DEFAULT 0,
    restocked      bigint NOT NULL DEFAULT 0,
    held_until     timestamptz,
    PRIMARY KEY (reservation_id, sku, location),
    CHECK (confirmed BETWEEN 0 AND quantity),
    CHECK (returned BETWEEN 0 AND confirmed),
    CHECK (restocked BETWEEN 0 AND returned)
) WITH (fillfactor = 90);

CREATE INDEX reservation_line_held ON reservation_line (sku, location, held_until)
    WHERE held_until IS NOT NULL;
CREATE INDEX reservation_line_sku  ON reservation_line (sku, reservation_id);

-- The ledger. Written once per change under the level's row lock, so version has no gaps and id
-- and time follow it; never changed afterwards.
CREATE TABLE movement (
    id             bigint GENERATED ALWAYS AS IDENTITY,
    sku            text COLLATE "C" NOT NULL,
    location       text COLLATE "C" NOT NULL,
    version        bigint NOT NULL,
    kind           movement_kind NOT NULL,
    on_hand_delta  bigint NOT NULL,
    reserved_delta bigint NOT NULL,
    on_hand        bigint NOT NULL,
    reserved       bigint NOT NULL,
    reservation_id uuid,
    actor          text NOT NULL,
    reason         text,
    note           text,
    reference      text,
    at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (sku, location, version)
);

CREATE INDEX movement_newest ON movement (sku, id);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'table % is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER movement_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON movement
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- What others must learn of, written with the change itself: movements of one level that one
-- transaction made together. What each of them says stands in the ledger.
CREATE TABLE outbox (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sku           text COLLATE "C" NOT NULL,
    location      text COLLATE "C" NOT NULL,
    first_version bigint NOT NULL,
    last_version  bigint NOT NULL,
    CHECK (first_version <= last_version)
);

-- Keys of requests that make no row of their own to carry the key.
CREATE TABLE idempotency_key (
    api_key_id  bigint NOT NULL,
    key         text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    kept        text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (api_key_id, key)
);
