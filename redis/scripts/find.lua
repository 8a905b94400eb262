-- SPDX-License-Identifier: Apache-2.0
-- What was queued under a reservation's id.
--
-- KEYS  1 queue, 2 queued
-- ARGV  1 the id
-- Returns the text, or nil when it is not in the queue.
local place = redis.call('HGET', KEYS[2], ARGV[1])
if not place then
    return nil
end
local entry = string.match(place, '^%S+')
local found = redis.call('XRANGE', KEYS[1], entry, entry)
return found[1] and found[1][2][4]
