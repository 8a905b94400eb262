-- SPDX-License-Identifier: Apache-2.0
-- Requests that Redis had accepted and that did not become reservations.

-- name: add(ids, codes, details, requests) :exec
INSERT INTO unfulfilled (id, code, detail, request)
SELECT *
  FROM unnest(:ids::uuid[], :codes::text[], :details::text[], :requests::text[])
    ON CONFLICT (id) DO NOTHING;

-- name: by_id(id) :maybe
SELECT code, detail, request, refused_at
  FROM unfulfilled
 WHERE id = :id::uuid;

-- name: forget(keep_seconds, row_count) :exec
DELETE FROM unfulfilled
 WHERE id IN (SELECT id
                FROM unfulfilled
               WHERE refused_at < now() - :keep_seconds::bigint * interval '1 second'
               ORDER BY refused_at
               LIMIT :row_count::bigint
                 FOR UPDATE SKIP LOCKED);
