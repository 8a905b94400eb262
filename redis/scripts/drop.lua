-- SPDX-License-Identifier: Apache-2.0
-- Removes the queue of a bucket that takes no more requests into it.
--
-- KEYS  1 queue, 2 queued
-- Returns 1, or 0 when there is something in it: then nothing happens.
if redis.call('XLEN', KEYS[1]) > 0 then
    return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
return 1
