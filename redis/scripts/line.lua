-- SPDX-License-Identifier: Apache-2.0
-- Lets a customer have a token for one SKU, or keeps a place in line: first come, first served.
-- Tokens that are out, unused and not expired, are the pool. Who does not ask for a minute loses
-- the place.
--
-- KEYS  1 waiting, 2 asked, 3 granted, 4 tokens
-- ARGV  1 the customer, 2 tokens that may be out, 3 how long one is good in milliseconds, 4 the id
--       a new one gets
-- Returns of the verdict
--         1 granted: the token's id, and when it expires in milliseconds
--         2 waiting: the place in line, 1 is next, and how many wait
--         3 full: the line is too long to stand in
local GRANTED, WAITING, FULL = 1, 2, 3

local PATIENCE = 60000  -- milliseconds that a place is kept for who does not ask
local STEP = 100        -- silent or expired ones that one call takes out
local LONGEST = 1000000 -- customers in line
local KEEP = 90000      -- seconds: longer than any token is good

local customer, id = ARGV[1], ARGV[4]
local pool, ttl = tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function drop_from_line(names)
    if #names > 0 then
        redis.call('ZREM', KEYS[1], unpack(names))
        redis.call('ZREM', KEYS[2], unpack(names))
    end
end

-- Each call adds one to either at most, so what is left over does not grow.
local over = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, STEP)
if #over > 0 then
    redis.call('ZREM', KEYS[3], unpack(over))
    redis.call('HDEL', KEYS[4], unpack(over))
end
drop_from_line(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - PATIENCE, 'LIMIT', 0, STEP))

local expiry = tonumber(redis.call('ZSCORE', KEYS[3], customer) or 0)
local known = redis.call('HGET', KEYS[4], customer)
if known and expiry > now then
    return {GRANTED, known, expiry}
end

local asked = redis.call('ZSCORE', KEYS[2], customer)
if asked and tonumber(asked) <= now - PATIENCE then
    drop_from_line({customer})
end
local rank = redis.call('ZRANK', KEYS[1], customer)
local count = redis.call('ZCARD', KEYS[1])
local before = rank or count
local free = pool - redis.call('ZCOUNT', KEYS[3], '(' .. now, '+inf')
if free > before then
    drop_from_line({customer})
    expiry = now + ttl
    redis.call('ZADD', KEYS[3], expiry, customer)
    redis.call('HSET', KEYS[4], customer, id)
    redis.call('EXPIRE', KEYS[3], KEEP)
    redis.call('EXPIRE', KEYS[4], KEEP)
    return {GRANTED, id, expiry}
end
if not rank then
    if count >= LONGEST then
        return {FULL}
    end
    local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
    redis.call('ZADD', KEYS[1], (tonumber(last[2]) or 0) + 1, customer)
    count = count + 1
end
redis.call('ZADD', KEYS[2], now, customer)
redis.call('EXPIRE', KEYS[1], 2 * PATIENCE / 1000)
redis.call('EXPIRE', KEYS[2], 2 * PATIENCE / 1000)
return {WAITING, before + 1, count}
