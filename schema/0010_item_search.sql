-- SPDX-License-Identifier: Apache-2.0
-- Items are found by any part of SKU or name through an index of trigrams. pg_trgm comes with
-- PostgreSQL and may be added by whoever owns the database. Where it is missing, or may not be
-- added, the search answers the same and looks at every item.

DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX item_search ON item USING gin (sku gin_trgm_ops, name gin_trgm_ops);
EXCEPTION
    WHEN insufficient_privilege OR undefined_file OR feature_not_supported OR undefined_object THEN
        RAISE NOTICE 'pg_trgm is not available: the search for items looks at all of them';
END
$$;
