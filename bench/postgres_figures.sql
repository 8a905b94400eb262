-- SPDX-License-Identifier: Apache-2.0
-- What the server counts about a trial, and what the trial left in its database.

-- Flushes and bytes of the write-ahead log since the server's statistics began.
-- name: wal() :one
SELECT wal_sync, wal_bytes::bigint
  FROM pg_stat_wal;

-- name: level_table() :one
SELECT n_tup_upd, n_tup_hot_upd, pg_relation_size(relid)
  FROM pg_stat_user_tables
 WHERE relname = 'stock_level';

-- Rows read from tables and entries read from indexes. More than a handful for each reservation is
-- the sign of a plan that was made for smaller tables.
-- name: rows_read() :one
SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)::bigint
     + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)::bigint;

-- Of one database since it was made, rolled back or not.
-- name: transactions(database) :one
SELECT xact_commit + xact_rollback
  FROM pg_stat_database
 WHERE datname = :database;

-- An entry of the outbox speaks of several lines of the ledger. Those that are no reservations are
-- of the catalogue's import.
-- name: taken() :one
SELECT (SELECT sum(reserved) FROM stock_level)::bigint,
       (SELECT count(*) FROM reservation WHERE state = 'held'),
       (SELECT count(*) FROM movement WHERE kind = 'reserved'),
       (SELECT sum(last_version - first_version + 1) FROM outbox)::bigint
           - (SELECT count(*) FROM movement WHERE kind <> 'reserved');

-- name: visitors(database) :one
SELECT count(*)
  FROM pg_stat_activity
 WHERE datname = :database AND pid <> pg_backend_pid();

-- name: settings(names) :many
SELECT n.name, current_setting(n.name)
  FROM unnest(:names::text[]) WITH ORDINALITY AS n(name, place)
 ORDER BY n.place;
