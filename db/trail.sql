-- SPDX-License-Identifier: Apache-2.0
-- What staff did, row by row; never changed.

-- name: append(actor, action, subject, detail, request_id) :exec
INSERT INTO trail (actor, action, subject, detail, request_id)
VALUES (:actor, :action, :subject, :detail::jsonb, :request_id);

-- Newest first. Of the four ways one is gone, each along an index of its own, which the order
-- names.
-- name: newest(actor, subject, before, row_count) :many
SELECT t.id, t.at, t.actor, t.action, t.subject, t.detail::text, t.request_id
  FROM (SELECT id
          FROM (SELECT id
                  FROM trail
                 WHERE COALESCE(:actor::text, :subject::text) IS NULL AND id < :before::bigint
                 ORDER BY id DESC
                 LIMIT :row_count::bigint) AS of_all
         UNION ALL
        SELECT id
          FROM (SELECT id
                  FROM trail
                 WHERE :subject::text IS NULL AND actor = :actor AND id < :before::bigint
                 ORDER BY actor DESC, id DESC
                 LIMIT :row_count::bigint) AS of_actor
         UNION ALL
        SELECT id
          FROM (SELECT id
                  FROM trail
                 WHERE :actor::text IS NULL AND subject = :subject AND id < :before::bigint
                 ORDER BY subject DESC, id DESC
                 LIMIT :row_count::bigint) AS of_subject
         UNION ALL
        SELECT id
          FROM (SELECT id
                  FROM trail
                 WHERE subject = :subject AND actor = :actor AND id < :before::bigint
                 ORDER BY subject DESC, actor DESC, id DESC
                 LIMIT :row_count::bigint) AS of_both) AS found
  JOIN trail t ON t.id = found.id
 ORDER BY t.id DESC;
