-- SPDX-License-Identifier: Apache-2.0
-- Brings one SKU in line with PostgreSQL, and lets answers be given for a moment more.
--
-- KEYS  1 state, 2 pending, 3 noted, 4 customers, 5 queue, 6 queued
-- ARGV  1 epoch, 2 until when in milliseconds, 3 on sale (1 or 0), 4 not before and 5 not from in
--       milliseconds, 6 limit per customer (0: none), 7 whether all that customers have was had
--       under this epoch (1 or 0), 8 number of levels, then of each location and how many units
--       more or fewer, then customers of whom nothing is known any more
-- Returns 1, or 0 when the SKU is not loaded under this epoch: then nothing happens.
local state = redis.call('HMGET', KEYS[1], 'epoch', 'limit', 'until')
if state[1] ~= ARGV[1] then
    return 0
end
if state[2] ~= ARGV[6] then
    redis.call('DEL', KEYS[4])
end
local at = 9
for _ = 1, tonumber(ARGV[8]) do
    if ARGV[at + 1] ~= '0' then
        redis.call('HINCRBY', KEYS[1], 'a:' .. ARGV[at], ARGV[at + 1])
    end
    at = at + 2
end
if at <= #ARGV then
    for i = at, #ARGV do
        redis.call('HSET', KEYS[4], ARGV[i], '0 0 ?')
    end
    redis.call('HINCRBY', KEYS[1], 'reliefs', 1)
end
local last = math.max(tonumber(ARGV[2]), tonumber(state[3]))
redis.call('HSET', KEYS[1], 'until', string.format('%.0f', last), 'on_sale', ARGV[3],
    'opens', ARGV[4], 'closes', ARGV[5], 'limit', ARGV[6],
    'all_known', ARGV[7])
-- What nobody keeps any more goes away by itself; the queue does not.
for i = 1, 4 do
    redis.call('EXPIRE', KEYS[i], 86400)
end
return 1
