-- SPDX-License-Identifier: Apache-2.0
-- What the server is like.

-- name: server_state() :one
SELECT current_setting('fsync'),
       current_setting('full_page_writes'),
       COALESCE((SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'), 'on'),
       current_setting('max_connections')::bigint,
       (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
       pg_is_in_recovery(),
       current_setting('server_version');
