-- SPDX-License-Identifier: Apache-2.0
-- Whether the database can serve.

-- name: can_write() :one
SELECT NOT pg_is_in_recovery();
