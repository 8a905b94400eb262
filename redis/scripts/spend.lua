-- SPDX-License-Identifier: Apache-2.0
-- Takes a token that was used out of the pool, so that the next in line can have one.
--
-- KEYS  1 granted, 2 tokens
-- ARGV  1 the customer, 2 the token's id
-- Returns 1, or 0 when the customer has no such token: then nothing happens.
if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then
    return 0
end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[1])
return 1
