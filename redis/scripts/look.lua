-- SPDX-License-Identifier: Apache-2.0
-- What is known of one SKU.
--
-- KEYS  1 state, 2 pending, 3 noted, 4 customers, 5 queue, 6 queued
-- ARGV  1 pending requests told at most
-- Returns {} when it is not loaded or its notes are gone, else: epoch, the time in milliseconds,
-- the id of this run of the server, the id of the run it was loaded in, the state as fields and
-- values, how many are pending, these as ids and entries (none when there are more than asked for),
-- and how many are in the queue.
local epoch, server = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'server'))
if not epoch or redis.call('SISMEMBER', KEYS[3], '') == 0 then
    return {}
end
local time = redis.call('TIME')
local count = redis.call('HLEN', KEYS[2])
local pending = {}
if count <= tonumber(ARGV[1]) then
    pending = redis.call('HGETALL', KEYS[2])
end
return {
    epoch,
    time[1] * 1000 + math.floor(time[2] / 1000),
    string.match(redis.call('INFO', 'server'), 'run_id:(%w+)'),
    server,
    redis.call('HGETALL', KEYS[1]),
    count,
    pending,
    redis.call('XLEN', KEYS[5]),
}
