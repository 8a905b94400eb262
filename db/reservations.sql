-- SPDX-License-Identifier: Apache-2.0
-- Reservations and their lines. A hold whose expires_at has passed counts as expired, whether
-- somebody has returned its units yet or not; only towards a customer's limit it counts until then.
-- The database's clock decides.

-- Everything known before anything is taken, a row for each line wanted: whether this transaction
-- got the key's lock, what the key made before, whether the customer is blocked, the rules of the
-- item, the level, and whether due holds stand on a level that is short. Locks are tried, not
-- waited for; a key that stands in several rows gets its lock several times. While nobody is
-- blocked, that is found out once for all rows.
-- name: look(lock_numbers, api_key_ids, keys, customers, skus, locations, quantities) :many
WITH asked AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(w.lock_number) AS is_mine, w.*
      FROM unnest(:lock_numbers::bigint[], :api_key_ids::bigint[], :keys::text[],
                  :customers::text[], :skus::text[], :locations::text[], :quantities::bigint[])
           WITH ORDINALITY
           AS w(lock_number, api_key_id, key, customer, sku, location, quantity, place)
)
SELECT asked.is_mine,
       earlier.id,
       earlier.fingerprint,
       EXISTS (SELECT FROM idempotency_key k
                WHERE k.api_key_id = asked.api_key_id AND k.key = asked.key LIMIT 1),
       CASE WHEN asked.customer IS NOT NULL AND EXISTS (SELECT FROM blocked_customer)
            THEN EXISTS (SELECT FROM blocked_customer b WHERE b.customer = asked.customer LIMIT 1)
            ELSE false END,
       i.sku IS NOT NULL,
       COALESCE(i.on_sale AND COALESCE(i.sale_starts_at <= now(), true)
                          AND COALESCE(i.sale_ends_at > now(), true), false),
       i.max_per_customer,
       i.strategy,
       i.admission IS NOT NULL,
       COALESCE(i.fast_epoch,
                CASE WHEN i.fast_closed_at > now() - interval '1 second' THEN -1 END, 0),
       COALESCE(l.on_hand, 0),
       COALESCE(l.reserved, 0),
       COALESCE(l.version, 0),
       CASE WHEN l.on_hand - l.reserved < asked.quantity
            THEN EXISTS (SELECT
                           FROM reservation_line h
                          WHERE h.sku COLLATE "POSIX" = asked.sku
                            AND h.location COLLATE "POSIX" = asked.location
                            AND h.held_until <= now()
                          LIMIT 1)
            ELSE false END,
       now()
  FROM asked
  LEFT JOIN LATERAL (SELECT * FROM item WHERE item.sku = asked.sku LIMIT 1) AS i ON true
  LEFT JOIN LATERAL (SELECT s.on_hand, s.reserved, s.version
                       FROM stock_level s
                      WHERE s.sku = asked.sku AND s.location = asked.location
                      LIMIT 1) AS l ON true
  LEFT JOIN LATERAL (SELECT r.id, r.fingerprint
                       FROM reservation r
                      WHERE r.api_key_id = asked.api_key_id AND r.idempotency_key = asked.key
                      LIMIT 1) AS earlier ON true
 ORDER BY asked.place;

-- Which of these keys have made a reservation, by their place.
-- name: find_keys(api_key_ids, keys) :many
SELECT w.place - 1, r.id, r.fingerprint
  FROM unnest(:api_key_ids::bigint[], :keys::text[]) WITH ORDINALITY AS w(api_key_id, key, place)
 CROSS JOIN LATERAL (SELECT made.id, made.fingerprint
                       FROM reservation made
                      WHERE made.api_key_id = w.api_key_id AND made.idempotency_key = w.key
                      LIMIT 1) AS r;

-- name: insert(ids, api_key_ids, keys, fingerprints, customers, refs, metadatas, ttls, supersedes,
--     are_confirmed, line_ids, skus, locations, quantities, line_ttls, lines_confirmed) :exec
WITH made AS (
    INSERT INTO reservation (id, api_key_id, idempotency_key, fingerprint, customer, reference,
                             metadata, expires_at, supersedes, state, settled_at)
    SELECT n.id, n.api_key_id, n.key, n.fingerprint, n.customer, n.reference, n.metadata,
           now() + n.ttl * interval '1 second', n.supersedes,
           (CASE WHEN n.is_confirmed THEN 'confirmed' ELSE 'held' END)::reservation_state,
           CASE WHEN n.is_confirmed THEN now() END
      FROM unnest(:ids::uuid[], :api_key_ids::bigint[], :keys::text[], :fingerprints::bytea[],
                  :customers::text[], :refs::text[], :metadatas::text[], :ttls::bigint[],
                  :supersedes::uuid[], :are_confirmed::boolean[])
           AS n(id, api_key_id, key, fingerprint, customer, reference, metadata, ttl, supersedes,
                is_confirmed)
)
INSERT INTO reservation_line (reservation_id, sku, location, quantity, confirmed, held_until)
SELECT n.id, n.sku, n.location, n.quantity,
       CASE WHEN n.is_confirmed THEN n.quantity ELSE 0 END,
       CASE WHEN NOT n.is_confirmed THEN now() + n.ttl * interval '1 second' END
  FROM unnest(:line_ids::uuid[], :skus::text[], :locations::text[], :quantities::bigint[],
              :line_ttls::bigint[], :lines_confirmed::boolean[])
       AS n(id, sku, location, quantity, ttl, is_confirmed);

-- name: by_id(id) :maybe
SELECT id, state, customer, reference, metadata, created_at, expires_at, settled_at, supersedes,
       superseded_by, expires_at <= now()
  FROM reservation
 WHERE id = :id::uuid;

-- name: lock(ids) :many
SELECT id, state, customer, reference, metadata, created_at, expires_at, settled_at, supersedes,
       superseded_by, expires_at <= now(), now()
  FROM reservation
 WHERE id = ANY (:ids::uuid[])
 ORDER BY id
   FOR UPDATE;

-- name: lines(ids) :many
SELECT reservation_id, sku, location, quantity, confirmed, returned, restocked
  FROM reservation_line
 WHERE reservation_id = ANY (:ids::uuid[])
 ORDER BY reservation_id, sku, location;

-- Brings reservations and all their lines into a final state.
-- name: settle(ids, states, line_ids, skus, locations, confirmed) :exec
WITH settled AS (
    UPDATE reservation r
       SET state = n.state, settled_at = now()
      FROM unnest(:ids::uuid[], :states::reservation_state[]) AS n(id, state)
     WHERE r.id = n.id AND r.id = ANY (:ids::uuid[])
)
UPDATE reservation_line l
   SET confirmed = n.confirmed, held_until = NULL
  FROM unnest(:line_ids::uuid[], :skus::text[], :locations::text[], :confirmed::bigint[])
       AS n(id, sku, location, confirmed)
 WHERE l.reservation_id = n.id AND l.sku = n.sku AND l.location = n.location
   AND l.reservation_id = ANY (:ids::uuid[]);

-- name: close(ids, state) :one
WITH settled AS (
    UPDATE reservation
       SET state = :state::reservation_state, settled_at = now()
     WHERE id = ANY (:ids::uuid[])
    RETURNING id
), lines AS (
    UPDATE reservation_line l
       SET held_until = NULL
      FROM settled
     WHERE l.reservation_id = settled.id
)
SELECT now();

-- name: supersede(id, by) :exec
UPDATE reservation
   SET superseded_by = COALESCE(superseded_by, :by::uuid)
 WHERE id = :id::uuid;

-- name: extend(ids, ttls) :exec
WITH extended AS (
    UPDATE reservation r
       SET expires_at = now() + n.ttl * interval '1 second'
      FROM unnest(:ids::uuid[], :ttls::bigint[]) AS n(id, ttl)
     WHERE r.id = n.id AND r.id = ANY (:ids::uuid[])
    RETURNING r.id, r.expires_at
)
UPDATE reservation_line l
   SET held_until = extended.expires_at
  FROM extended
 WHERE l.reservation_id = extended.id AND l.reservation_id = ANY (:ids::uuid[]);

-- name: give_back(id, skus, locations, quantities, is_restocked) :exec
UPDATE reservation_line l
   SET returned  = l.returned + n.quantity,
       restocked = l.restocked + CASE WHEN :is_restocked::boolean THEN n.quantity ELSE 0 END
  FROM unnest(:skus::text[], :locations::text[], :quantities::bigint[])
       AS n(sku, location, quantity)
 WHERE l.reservation_id = :id::uuid AND l.sku = n.sku AND l.location = n.location;

-- Waits for rows somebody else holds instead of skipping them: what is skipped would be counted as
-- sold.
-- name: lock_due(skus, locations, holds_max) :many
SELECT r.id, r.expires_at
  FROM reservation r
 WHERE r.state = 'held' AND r.expires_at <= now()
   AND r.id = ANY (ARRAY(SELECT due.reservation_id
                           FROM unnest(:skus::text[], :locations::text[]) AS w(sku, location)
                          CROSS JOIN LATERAL (SELECT l.reservation_id, l.held_until
                                                FROM reservation_line l
                                               WHERE l.sku COLLATE "POSIX" = w.sku
                                                 AND l.location COLLATE "POSIX" = w.location
                                                 AND l.held_until <= now()
                                               ORDER BY l.held_until
                                               LIMIT :holds_max::bigint) AS due
                          ORDER BY due.held_until
                          LIMIT :holds_max::bigint))
 ORDER BY r.id
   FOR UPDATE OF r;

-- The longest due of all. Leaves out what somebody else is settling at the moment: it is not
-- counted as anything, and is met again if it is still due then.
-- name: lock_any_due(lines_max) :many
SELECT r.id, r.expires_at
  FROM reservation r
 WHERE r.state = 'held' AND r.expires_at <= now()
   AND r.id = ANY (ARRAY(SELECT l.reservation_id
                           FROM reservation_line l
                          WHERE l.held_until <= now()
                          ORDER BY l.held_until
                          LIMIT :lines_max::bigint))
 ORDER BY r.id
   FOR UPDATE OF r SKIP LOCKED;

-- In order, so that two who lock several do not wait for each other.
-- name: lock_customers(lock_numbers) :exec
SELECT pg_advisory_xact_lock(w.number)
  FROM (SELECT DISTINCT u.number
          FROM unnest(:lock_numbers::bigint[]) AS u(number)
         ORDER BY u.number) AS w;

-- Counts due holds too, until somebody has expired them under their locks: a confirmation that
-- began in time may still be under way. How much of it is due is told beside it.
-- name: open_holds(customers) :many
SELECT open.holds, open.due
  FROM unnest(:customers::text[]) WITH ORDINALITY AS w(customer, place)
 CROSS JOIN LATERAL (SELECT count(*) AS holds,
                            count(*) FILTER (WHERE r.expires_at <= now()) AS due
                       FROM reservation r
                      WHERE r.customer = w.customer AND r.state = 'held') AS open
 ORDER BY w.place;

-- name: units_of_customers(customers, skus, apart_from) :many
SELECT COALESCE(had.units, 0)::bigint, COALESCE(had.due, 0)::bigint
  FROM unnest(:customers::text[], :skus::text[], :apart_from::uuid[]) WITH ORDINALITY
       AS w(customer, sku, apart_from, place)
 CROSS JOIN LATERAL (SELECT sum(CASE WHEN r.state = 'confirmed' THEN l.confirmed - l.restocked
                                     WHEN r.state = 'held' THEN l.quantity
                                     ELSE 0 END) AS units,
                            sum(l.quantity) FILTER (WHERE r.state = 'held'
                                                      AND r.expires_at <= now()) AS due
                       FROM reservation r
                       JOIN reservation_line l ON l.reservation_id = r.id AND l.sku = w.sku
                      WHERE r.customer = w.customer AND r.id IS DISTINCT FROM w.apart_from) AS had
 ORDER BY w.place;

-- name: lock_due_of_customers(customers, holds_max) :many
SELECT id, expires_at
  FROM reservation
 WHERE id IN (SELECT d.id
                FROM reservation d
               WHERE d.customer = ANY (:customers::text[])
                 AND d.state = 'held' AND d.expires_at <= now()
               ORDER BY d.id
               LIMIT :holds_max::bigint)
   AND state = 'held' AND expires_at <= now()
 ORDER BY id
   FOR UPDATE;

-- The open holds on each of these levels, by the level's place: the oldest of the next to end, as
-- there may be a hundred thousand and whoever asks has the level locked.
-- name: holds_on(skus, locations, looked_max, per_level_max) :many
SELECT w.place - 1, h.id, h.quantity, h.expires_at, h.customer, h.reference
  FROM unnest(:skus::text[], :locations::text[]) WITH ORDINALITY AS w(sku, location, place)
 CROSS JOIN LATERAL (SELECT r.id, o.quantity, r.expires_at, r.customer, r.reference
                       FROM (SELECT n.reservation_id, n.quantity
                               FROM (SELECT l.reservation_id, l.quantity
                                       FROM reservation_line l
                                      WHERE l.sku COLLATE "POSIX" = w.sku
                                        AND l.location COLLATE "POSIX" = w.location
                                        AND l.held_until > now()
                                      ORDER BY l.held_until
                                      LIMIT :looked_max::bigint) AS n
                              ORDER BY n.reservation_id
                              LIMIT :per_level_max::bigint) AS o
                       JOIN reservation r ON r.id = o.reservation_id) AS h
 ORDER BY w.place, h.id;

-- The open holds on a level, those that end first before the others.
-- name: next_to_end(sku, location, row_count) :many
SELECT r.id, l.quantity, r.expires_at, r.customer, r.reference
  FROM (SELECT reservation_id, quantity, held_until
          FROM reservation_line
         WHERE sku COLLATE "POSIX" = :sku AND location COLLATE "POSIX" = :location
           AND held_until > now()
         ORDER BY held_until
         LIMIT :row_count::bigint) AS l
  JOIN reservation r ON r.id = l.reservation_id
 ORDER BY l.held_until, r.id;

-- How many holds are open on a level, and their units; counted no further than count_max. The order
-- has it go by the index of open lines, and past none that is settled.
-- name: sum_open(sku, location, count_max) :one
SELECT count(*), COALESCE(sum(open.quantity), 0)::bigint
  FROM (SELECT quantity
          FROM reservation_line
         WHERE sku COLLATE "POSIX" = :sku AND location COLLATE "POSIX" = :location
           AND held_until > now()
         ORDER BY held_until
         LIMIT :count_max::bigint) AS open;

-- A list goes from the newest reservation to the oldest along one index: that of the reference, the
-- customer or the SKU given as by_…, or of all. It looks at 5000 for one page, so a page may be
-- short, or empty, and not the last: end_of_walk tells where the next one begins.
-- name: walk(by_reference, by_customer, by_sku, customer, sku, state, before, row_count) :many
SELECT r.id, r.state, r.customer, r.reference, r.metadata, r.created_at, r.expires_at,
       r.settled_at, r.supersedes, r.superseded_by, r.expires_at <= now()
  FROM (SELECT id
          FROM (SELECT id
                  FROM reservation
                 WHERE reference = :by_reference AND id < :before::uuid
                 ORDER BY id DESC
                 LIMIT 5000) AS of_reference
         UNION ALL
        SELECT id
          FROM (SELECT id
                  FROM reservation
                 WHERE customer = :by_customer AND id < :before::uuid
                 ORDER BY id DESC
                 LIMIT 5000) AS of_customer
         UNION ALL
        SELECT reservation_id
          FROM (SELECT DISTINCT reservation_id
                  FROM reservation_line
                 WHERE sku = :by_sku AND reservation_id < :before::uuid
                 ORDER BY reservation_id DESC
                 LIMIT 5000) AS of_sku
         UNION ALL
        SELECT id
          FROM (SELECT id
                  FROM reservation
                 WHERE COALESCE(:by_reference, :by_customer, :by_sku) IS NULL
                   AND id < :before::uuid
                 ORDER BY id DESC
                 LIMIT 5000) AS of_all) AS looked_at
  JOIN reservation r ON r.id = looked_at.id
 WHERE (:customer::text IS NULL OR r.customer = :customer)
   AND (:sku::text IS NULL OR :sku = ANY (SELECT l.sku
                                            FROM reservation_line l
                                           WHERE l.reservation_id = r.id))
   AND (:state::text IS NULL
        OR :state = CASE WHEN r.state = 'held' AND r.expires_at <= now() THEN 'expired'
                         ELSE r.state::text END)
 ORDER BY looked_at.id DESC
 LIMIT :row_count::bigint;

-- The last reservation that a page looks at, unless the list ends before.
-- name: end_of_walk(by_reference, by_customer, by_sku, before) :maybe
SELECT id
  FROM (SELECT id
          FROM reservation
         WHERE reference = :by_reference AND id < :before::uuid
         ORDER BY id DESC
        OFFSET 4999
         LIMIT 1) AS of_reference
 UNION ALL
SELECT id
  FROM (SELECT id
          FROM reservation
         WHERE customer = :by_customer AND id < :before::uuid
         ORDER BY id DESC
        OFFSET 4999
         LIMIT 1) AS of_customer
 UNION ALL
SELECT reservation_id
  FROM (SELECT DISTINCT reservation_id
          FROM reservation_line
         WHERE sku = :by_sku AND reservation_id < :before::uuid
         ORDER BY reservation_id DESC
        OFFSET 4999
         LIMIT 1) AS of_sku
 UNION ALL
SELECT id
  FROM (SELECT id
          FROM reservation
         WHERE COALESCE(:by_reference, :by_customer, :by_sku) IS NULL AND id < :before::uuid
         ORDER BY id DESC
        OFFSET 4999
         LIMIT 1) AS of_all;

-- How many holds are open, in all or on one SKU; counted no further than count_max.
-- name: count_open(sku, count_max) :one
SELECT (SELECT count(*)
          FROM (SELECT
                  FROM reservation_line
                 WHERE :sku::text IS NULL AND held_until > now()
                 LIMIT :count_max::bigint) AS in_all)
     + (SELECT count(*)
          FROM (SELECT
                  FROM reservation_line
                 WHERE sku COLLATE "POSIX" = :sku AND held_until > now()
                 LIMIT :count_max::bigint) AS on_sku);

-- Open holds are few beside all that ever was: their lines have an index of their own, which no
-- settled line stands in.
-- name: list_open(sku, before, row_count) :many
WITH open AS MATERIALIZED (
    SELECT reservation_id AS id
      FROM reservation_line
     WHERE :sku::text IS NULL AND held_until > now()
     UNION
    SELECT reservation_id
      FROM reservation_line
     WHERE sku COLLATE "POSIX" = :sku AND held_until > now()
), shown AS MATERIALIZED (
    SELECT id
      FROM open
     WHERE id < :before::uuid
     ORDER BY id DESC
     LIMIT :row_count::bigint
)
SELECT r.id, r.state, r.customer, r.reference, r.metadata, r.created_at, r.expires_at,
       r.settled_at, r.supersedes, r.superseded_by, r.expires_at <= now()
  FROM shown
  JOIN reservation r ON r.id = shown.id
 ORDER BY r.id DESC;
