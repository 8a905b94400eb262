-- SPDX-License-Identifier: Apache-2.0
-- What staff does that the ledger does not say: one row for each change, written with it.

-- The request is that of the answer's X-Request-Id; empty for what was done on the server itself.
CREATE TABLE trail (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor      text COLLATE "C" NOT NULL,
    action     text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    detail     jsonb NOT NULL,
    request_id text
);

CREATE INDEX trail_actor   ON trail (actor, id);
CREATE INDEX trail_subject ON trail (subject, id);
CREATE INDEX trail_both    ON trail (subject, actor, id);

CREATE TRIGGER trail_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON trail
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
