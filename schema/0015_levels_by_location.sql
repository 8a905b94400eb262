-- SPDX-License-Identifier: Apache-2.0
-- Levels of one location, for what is left to be counted there. A sale changes neither column, and
-- pages are half empty for it, so that it does not write to this index.

CREATE INDEX stock_level_location ON stock_level (location, sku);
