-- SPDX-License-Identifier: Apache-2.0
-- Items that are only sold to whoever shows a token, and the tokens that are spent. A token is
-- signed and stands nowhere until then.

ALTER TABLE item
    ADD COLUMN admission             text CHECK (admission IN ('token')),
    ADD COLUMN admission_pool        bigint NOT NULL DEFAULT 100
                                     CHECK (admission_pool BETWEEN 1 AND 1000000),
    ADD COLUMN admission_ttl_seconds bigint NOT NULL DEFAULT 300
                                     CHECK (admission_ttl_seconds BETWEEN 1 AND 86400);

-- What all processes sign with, made by the first that needs it.
CREATE TABLE secret (
    name  text COLLATE "C" PRIMARY KEY,
    bytes bytea NOT NULL
);

-- Written by the transaction that makes the reservation, so that of all who show a token one has
-- it. Forgotten some time after nobody could show it any more.
CREATE TABLE spent_token (
    id             uuid PRIMARY KEY,
    reservation_id uuid NOT NULL,
    expires_at     timestamptz NOT NULL
);

CREATE INDEX spent_token_expires_at ON spent_token (expires_at);
