-- SPDX-License-Identifier: Apache-2.0
-- Decides which requests for units of one SKU may go on to PostgreSQL, each in one atomic step:
-- sale window, customer's limit, availability. What goes on is noted by its idempotency key, so
-- that a request that is repeated is never refused here.
--
-- KEYS  1 state, 2 pending, 3 noted, 4 customers
-- ARGV  1 epoch, then of each request its reservation id, note, customer ('' is none), what to do
--       (take: the whole of this; ask: let PostgreSQL decide; note: it was decided in another
--       bucket), number of lines, and of each line location and quantity
-- Returns {} when the SKU is not loaded under this epoch, or its notes are gone: then nothing is
-- noted. Else of each
-- request a list: its verdict, then of each line what was available and what was held.
local TAKEN, ASK, SHORT, LIMIT, CLOSED = 1, 2, 3, 4, 5

local state = redis.call('HMGET', KEYS[1],
    'epoch', 'until', 'on_sale', 'opens', 'closes', 'limit', 'reliefs')
if state[1] ~= ARGV[1] or redis.call('SISMEMBER', KEYS[3], '') == 0 then
    return {}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local is_fresh = now < tonumber(state[2])
local is_open = state[3] == '1' and now >= tonumber(state[4]) and now < tonumber(state[5])
local limit = tonumber(state[6])

local levels = {}
local function level_at(location)
    local level = levels[location]
    if not level then
        local found = redis.call('HMGET', KEYS[1], 'a:' .. location, 'h:' .. location)
        level = {available = tonumber(found[1] or 0), held = tonumber(found[2] or 0)}
        levels[location] = level
    end
    return level
end

local customers = {}
local function customer_of(name)
    local customer = customers[name]
    if not customer then
        local found = redis.call('HGET', KEYS[4], name) or '0 0'
        local has, wants = string.match(found, '^(%d+) (%d+)$')
        customer = {has = tonumber(has), wants = tonumber(wants)}
        customers[name] = customer
    end
    return customer
end

-- What is held may come back, so only what both together do not cover is short for certain.
local function verdict_of(name, total, lines)
    if limit > 0 then
        if name == '' then
            return ASK
        end
        local customer = customer_of(name)
        if customer.has + total > limit then
            return LIMIT
        elseif customer.has + customer.wants + total > limit then
            return ASK
        end
    end
    local verdict = TAKEN
    for _, line in ipairs(lines) do
        local level = level_at(line.location)
        if level.available + level.held < line.quantity then
            return SHORT
        elseif level.available < line.quantity then
            verdict = ASK
        end
    end
    return verdict
end

local answers, notes, noted, pending = {}, {}, {}, {}
local at = 2
while at <= #ARGV do
    local id, note, name, wish, count = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
    at = at + 5
    local lines, total, text = {}, 0, ''
    for i = 1, tonumber(count) do
        lines[i] = {location = ARGV[at], quantity = tonumber(ARGV[at + 1])}
        total = total + lines[i].quantity
        text = text .. ARGV[at] .. ' ' .. ARGV[at + 1] .. ' '
        at = at + 2
    end
    local verdict = ASK
    if wish == 'take' and is_fresh then
        verdict = is_open and verdict_of(name, total, lines) or CLOSED
    end
    if verdict > ASK and (noted[note] or redis.call('SISMEMBER', KEYS[3], note) == 1) then
        verdict = ASK
    end
    local answer = {verdict}
    for _, line in ipairs(lines) do
        local level = level_at(line.location)
        answer[#answer + 1] = level.available
        answer[#answer + 1] = level.held
        if verdict == TAKEN then
            level.available = level.available - line.quantity
            level.held = level.held + line.quantity
            level.is_changed = true
        end
    end
    if verdict <= ASK and not noted[note] then
        noted[note] = true
        notes[#notes + 1] = note
    end
    -- Whoever is only asked about is pending as well: PostgreSQL may have it before we are told.
    if verdict == TAKEN or (verdict == ASK and wish ~= 'note') then
        local kind = verdict == TAKEN and 'taken ' or 'asked '
        pending[#pending + 1] = id
        pending[#pending + 1] = kind .. now .. ' ' .. state[7] .. ' ' .. count .. ' ' .. text .. name
        if limit > 0 and name ~= '' then
            customer_of(name).wants = customer_of(name).wants + total
            customer_of(name).is_changed = true
        end
    end
    answers[#answers + 1] = answer
end

if #notes > 0 then
    redis.call('SADD', KEYS[3], unpack(notes))
end
if #pending > 0 then
    redis.call('HSET', KEYS[2], unpack(pending))
    for location, level in pairs(levels) do
        if level.is_changed then
            redis.call('HSET', KEYS[1], 'a:' .. location, string.format('%.0f', level.available),
                'h:' .. location, string.format('%.0f', level.held))
        end
    end
    for name, customer in pairs(customers) do
        if customer.is_changed then
            redis.call('HSET', KEYS[4], name,
                string.format('%.0f %.0f', customer.has, customer.wants))
        end
    end
end
return answers
