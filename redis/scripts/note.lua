-- SPDX-License-Identifier: Apache-2.0
-- Notes requests that PostgreSQL has already.
--
-- KEYS  1 state, 2 noted
-- ARGV  1 epoch, then notes
-- Returns 1, or 0 when the SKU is not loaded under this epoch.
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then
    return 0
end
for i = 2, #ARGV, 1000 do
    redis.call('SADD', KEYS[2], unpack(ARGV, i, math.min(#ARGV, i + 999)))
end
return 1
