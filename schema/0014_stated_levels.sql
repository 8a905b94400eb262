-- SPDX-License-Identifier: Apache-2.0
-- What somebody said a level to be, so that undoing an earlier import does not make it wrong.

-- The last such word about each level: by a count, also one that found what was expected, by an
-- adjustment to a number, or by a row of an import that had nothing to change. version is that of
-- the level as it was seen. What an import did change stands in stock_import_level.
CREATE TABLE level_stated (
    sku       text COLLATE "C" NOT NULL,
    location  text COLLATE "C" NOT NULL,
    version   bigint NOT NULL CHECK (version >= 0),
    at        timestamptz NOT NULL DEFAULT now(),
    import_id uuid,
    PRIMARY KEY (sku, location)
);

INSERT INTO level_stated (sku, location, version, at)
SELECT m.sku, m.location, max(m.version), max(m.at)
  FROM movement m
 WHERE m.kind = 'counted' AND m.at > now() - interval '31 days'
 GROUP BY m.sku, m.location;

-- version is the one the level got by the import; imports made before this have none, and go by the
-- time. A row that is superseded was left alone when the import was undone.
ALTER TABLE stock_import_level
    ADD COLUMN version bigint,
    ADD COLUMN superseded boolean NOT NULL DEFAULT false;

CREATE INDEX stock_import_level_at ON stock_import_level (sku, location);

CREATE INDEX stock_import_level_superseded ON stock_import_level (import_id, line)
    WHERE superseded;
