-- SPDX-License-Identifier: Apache-2.0
-- Customers to whom nothing more is promised. Whether a reservation's customer is one of them is
-- part of reservations.look.

-- Before any change. Others who change the list wait until the transaction ends.
-- name: begin_change() :exec
UPDATE blocked_customer_head
   SET revision = revision + 1;

-- name: find(customer) :maybe
SELECT customer, reason, actor, blocked_at
  FROM blocked_customer
 WHERE customer = :customer;

-- Nothing when there are as many as there may be. One who is blocked already keeps his time.
-- name: block(customer, reason, actor, count_max) :maybe
INSERT INTO blocked_customer AS b (customer, reason, actor)
SELECT :customer, :reason, :actor
 WHERE EXISTS (SELECT FROM blocked_customer WHERE customer = :customer)
    OR (SELECT count(*) FROM blocked_customer) < :count_max::bigint
    ON CONFLICT (customer) DO UPDATE SET reason = EXCLUDED.reason, actor = EXCLUDED.actor
RETURNING b.customer, b.reason, b.actor, b.blocked_at;

-- name: unblock(customer) :exec
DELETE FROM blocked_customer
 WHERE customer = :customer;

-- name: list(after, row_count) :many
SELECT customer, reason, actor, blocked_at
  FROM blocked_customer
 WHERE customer > :after
 ORDER BY customer
 LIMIT :row_count::bigint;

-- name: revision() :one
SELECT revision
  FROM blocked_customer_head;

-- name: all() :many
SELECT customer
  FROM blocked_customer;
