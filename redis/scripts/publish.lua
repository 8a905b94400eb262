-- SPDX-License-Identifier: Apache-2.0
-- Appends events to a stream, each once, whoever publishes: only if the stream is at the place in
-- the feed that the caller thinks it is at.
--
-- KEYS  1 the stream, 2 its place; a stream that is not there has none
-- ARGV  1 the place the caller knows (empty: none), 2 the place behind these events,
--       3 entries the stream may have, about (0: any number),
--       then of each event its id, its type, its SKU and its JSON
-- Returns 1, or 0 when it is at another place: then nothing is appended.
local place = redis.call('EXISTS', KEYS[1]) == 1 and redis.call('GET', KEYS[2]) or ''
if place ~= ARGV[1] then
    return 0
end
for i = 4, #ARGV, 4 do
    if ARGV[3] == '0' then
        redis.call('XADD', KEYS[1], '*',
            'id', ARGV[i], 'type', ARGV[i + 1], 'sku', ARGV[i + 2], 'event', ARGV[i + 3])
    else
        redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*',
            'id', ARGV[i], 'type', ARGV[i + 1], 'sku', ARGV[i + 2], 'event', ARGV[i + 3])
    end
end
redis.call('SET', KEYS[2], ARGV[2])
return 1
