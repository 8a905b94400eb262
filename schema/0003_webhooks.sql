-- SPDX-License-Identifier: Apache-2.0
-- Who is told of events by a call, and what has become of each call.

-- The place is where in the feed this webhook reads on. Whatever people change gives it a new
-- revision, so that whoever delivers knows when what it remembers is no longer so. Its secrets sign
-- what is sent, so they are kept as they are.
CREATE TABLE webhook (
    id              uuid PRIMARY KEY,
    url             text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2000),
    types           text[],
    sku_prefix      text COLLATE "C",
    description     text,
    state           text NOT NULL DEFAULT 'active'
                    CHECK (state IN ('active', 'paused', 'disabled', 'deleted')),
    disabled_reason text,
    secret          bytea NOT NULL,
    place           text NOT NULL,
    revision        bigint NOT NULL DEFAULT 1,
    created_at      timestamptz NOT NULL DEFAULT now(),
    CHECK ((state = 'disabled') = (disabled_reason IS NOT NULL))
);

-- Secrets that were replaced and sign as well for a while.
CREATE TABLE webhook_former_secret (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id uuid NOT NULL REFERENCES webhook ON DELETE CASCADE,
    secret     bytea NOT NULL,
    signs_till timestamptz NOT NULL
);

CREATE INDEX webhook_former_secret_of ON webhook_former_secret (webhook_id);

-- SKUs of which so many deliveries wait that no more are written down for now, so that other SKUs
-- need not wait for them. The place is where their events go on.
CREATE TABLE webhook_backlog (
    webhook_id uuid NOT NULL REFERENCES webhook ON DELETE CASCADE,
    sku        text COLLATE "C" NOT NULL,
    place      text NOT NULL,
    PRIMARY KEY (webhook_id, sku)
);

-- One event for one webhook. The order of ids is the order of telling; due_at is when the next
-- attempt may be made.
CREATE TABLE webhook_delivery (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id      uuid NOT NULL REFERENCES webhook ON DELETE CASCADE,
    event_id        text COLLATE "C" NOT NULL,
    event_type      text NOT NULL,
    sku             text COLLATE "C",
    body            text NOT NULL,
    state           text NOT NULL DEFAULT 'pending'
                    CHECK (state IN ('pending', 'delivered', 'dead')),
    attempts        bigint NOT NULL DEFAULT 0,
    due_at          timestamptz NOT NULL DEFAULT now(),
    last_attempt_at timestamptz,
    last_status     bigint,
    last_fault      text,
    created_at      timestamptz NOT NULL DEFAULT now(),
    settled_at      timestamptz,
    UNIQUE (webhook_id, event_id),
    CHECK ((state = 'pending') = (settled_at IS NULL))
);

CREATE INDEX webhook_delivery_state ON webhook_delivery (webhook_id, state, id);
CREATE INDEX webhook_delivery_age   ON webhook_delivery (settled_at) WHERE settled_at IS NOT NULL;
