-- SPDX-License-Identifier: Apache-2.0
-- Begins a new epoch of one SKU, with nothing known of it: requests are noted, and PostgreSQL
-- decides on all of them.
--
-- KEYS  1 state, 2 pending, 3 noted, 4 customers, 5 queue, 6 queued
-- ARGV  1 epoch, 2 the SKU, 3 whether requests may be queued (1 or 0)
-- Returns 1, 0 when a later epoch is there, or -1 when the queue has requests of an earlier epoch
-- in it, which come first: then nothing happens.

-- What is of another kind was not written by us, and goes.
local function number(...)
    local found = redis.pcall(...)
    return type(found) ~= 'table' and tonumber(found) or 0
end

if number('HGET', KEYS[1], 'epoch') > tonumber(ARGV[1]) then
    return 0
end
if number('XLEN', KEYS[5]) > 0 then
    return -1
end
redis.call('DEL', unpack(KEYS))
redis.call('SADD', KEYS[3], '') -- whoever misses it knows that notes were lost
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'sku', ARGV[2], 'async', ARGV[3], 'until', 0,
    'on_sale', 0, 'opens', 0, 'closes', 0, 'limit', 0, 'reliefs', 0,
    'server', string.match(redis.call('INFO', 'server'), 'run_id:(%w+)'))
return 1
