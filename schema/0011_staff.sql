-- SPDX-License-Identifier: Apache-2.0
-- People who work with the service in a browser: who they are, where they are signed in, and the
-- links by which they become staff.

-- `number` stands, below zero, where an API key's id does: for the scope of idempotency keys.
-- `folded` is the name without its case, as Unicode folds it.
CREATE TABLE staff (
    id          uuid PRIMARY KEY,
    number      bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    name        text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    folded      text COLLATE "C" NOT NULL UNIQUE,
    role        text NOT NULL CHECK (role IN ('viewer', 'clerk', 'manager', 'owner')),
    password    text NOT NULL CHECK (password LIKE '$argon2id$%'),
    created_at  timestamptz NOT NULL DEFAULT now(),
    disabled_at timestamptz,
    revision    bigint NOT NULL DEFAULT 1
);

-- Of the token only its hash is here, so that whoever reads this table is not signed in.
CREATE TABLE staff_session (
    hash         bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    staff_id     uuid NOT NULL REFERENCES staff ON DELETE CASCADE,
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL
);

CREATE INDEX staff_session_staff ON staff_session (staff_id, created_at);

-- A link that makes one account. Without a name it is for the first owner, and good for nothing as
-- soon as there is anybody.
CREATE TABLE staff_invitation (
    hash       bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    role       text NOT NULL CHECK (role IN ('viewer', 'clerk', 'manager', 'owner')),
    name       text CHECK (char_length(name) BETWEEN 1 AND 100),
    expires_at timestamptz NOT NULL,
    CHECK (name IS NOT NULL OR role = 'owner')
);
