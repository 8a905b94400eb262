-- SPDX-License-Identifier: Apache-2.0
-- Customers to whom nothing more is promised. What they hold or have bought stays theirs.

CREATE TABLE blocked_customer (
    customer   text COLLATE "C" PRIMARY KEY CHECK (char_length(customer) BETWEEN 1 AND 200),
    reason     text NOT NULL CHECK (char_length(reason) BETWEEN 1 AND 500),
    actor      text NOT NULL,
    blocked_at timestamptz NOT NULL DEFAULT now()
);

-- One row. The revision changes with the list, so that whoever remembers it knows when to read it
-- again; changes wait for each other here, so that they can be counted.
CREATE TABLE blocked_customer_head (
    is_only  boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    revision bigint NOT NULL
);

INSERT INTO blocked_customer_head (revision) VALUES (0);
