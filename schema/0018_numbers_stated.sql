-- SPDX-License-Identifier: Apache-2.0
-- Everything that says a level to be a number, in one place: for entries of counts, and for what is
-- left alone when an import is undone.

-- By version, or for imports that have none by the time. moved: it is a row of an import that
-- changed the level, so that undoing the import takes the change back.
CREATE VIEW stated_number AS
SELECT s.sku, s.location, s.version, s.at, s.import_id, b.undone_at IS NOT NULL AS undone,
       false AS moved
  FROM level_stated s
  LEFT JOIN stock_import b ON b.id = s.import_id
 UNION ALL
SELECT o.sku, o.location, o.version, b.at, o.import_id, b.undone_at IS NOT NULL, true
  FROM stock_import_level o
  JOIN stock_import b ON b.id = o.import_id
 WHERE b.mode IN ('set', 'count');

-- When an import is undone that another one has overtaken, what it did is added to the other's row:
-- the two may come to nothing.
ALTER TABLE stock_import_level DROP CONSTRAINT stock_import_level_on_hand_delta_check;

-- Finds whether an import was undone since a level was counted. No sale is in it.
CREATE INDEX movement_undone ON movement (sku, location, version) WHERE reason = 'undone';
