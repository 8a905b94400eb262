-- SPDX-License-Identifier: Apache-2.0
-- Tells what became of requests that went on to PostgreSQL. What is pending under an id is settled
-- once, however often it is told; of what was only asked about, nothing was taken here yet.
--
-- KEYS  1 state, 2 pending, 3 noted, 4 customers, 5 queue, 6 queued
-- ARGV  1 epoch, then of each request its reservation id and what became of it:
--         kept                      PostgreSQL has it
--         back                      nothing: the units are free again
--         limit                     the same, and that many were too many for the customer
--         sold N (location, quantity)…    units went in PostgreSQL
--         freed CUSTOMER N (location, quantity)…  units came back there
-- After the first three nothing is queued under the id any more, whatever the epoch is.
-- Returns 1, or 0 when the SKU is not loaded under this epoch.
local state = redis.call('HMGET', KEYS[1], 'epoch', 'limit', 'reliefs')
local is_loaded = state[1] == ARGV[1]
local has_queue = redis.call('EXISTS', KEYS[6]) == 1
local limit = tonumber(state[2])
local reliefs = state[3]
local changes = {} -- by field of the state

local function change(field, by)
    changes[field] = (changes[field] or 0) + by
end

-- Returns how many he has and wants then.
local function change_customer(name, has, wants)
    local found = redis.call('HGET', KEYS[4], name) or '0 0'
    local had, wanted, mark = string.match(found, '^(%d+) (%d+)(.*)$')
    has = math.max(0, has + tonumber(had))
    wants = math.max(0, wants + tonumber(wanted))
    if has == 0 and wants == 0 and mark == '' then
        redis.call('HDEL', KEYS[4], name)
    else
        redis.call('HSET', KEYS[4], name, string.format('%.0f %.0f', has, wants) .. mark)
    end
    return has, wants
end

-- Whether some of what he had came back since the request was let through, so that it may be among
-- that: then it is not counted, and PostgreSQL decides.
local function may_be_given_up(name, told)
    return told ~= reliefs and string.find(redis.call('HGET', KEYS[4], name) or '', '?', 1, true)
end

local function pairs_at(at)
    local count, list = tonumber(ARGV[at]), {}
    for i = 1, count do
        list[i] = {location = ARGV[at + 2 * i - 1], number = tonumber(ARGV[at + 2 * i])}
    end
    return list, at + 1 + 2 * count
end

-- The stream itself is for its readers to clear.
local function leave_queue(id)
    local place = redis.call('HGET', KEYS[6], id)
    if not place then
        return
    end
    redis.call('HDEL', KEYS[6], id, string.match(place, '^%S+ (.*)$'))
end

-- Takes a request out of those pending.
local function close(id, outcome)
    if has_queue then
        leave_queue(id)
    end
    local entry = is_loaded and redis.call('HGET', KEYS[2], id)
    if not entry then
        return
    end
    redis.call('HDEL', KEYS[2], id)
    local kind, told, count, rest = string.match(entry, '^(%w+) %d+ (%d+) (%d+) (.*)$')
    local total = 0
    for _ = 1, tonumber(count) do
        local location, quantity, others = string.match(rest, '^(%S+) (%d+) (.*)$')
        rest = others
        quantity = tonumber(quantity)
        total = total + quantity
        if kind == 'asked' then
            change('w:' .. location, -quantity)
            change('a:' .. location, outcome == 'kept' and -quantity or 0)
        else
            change('h:' .. location, -quantity)
            change('a:' .. location, outcome == 'kept' and 0 or quantity)
        end
    end
    if limit > 0 and rest ~= '' then
        local counts = outcome == 'kept' and not may_be_given_up(rest, told)
        local has, wants = change_customer(rest, counts and total or 0, -total)
        -- Only if nothing else of his is under way, which may be among what he has already.
        if outcome == 'limit' and told == reliefs and wants == 0 then
            change_customer(rest, math.max(0, limit - total + 1 - has), 0)
        end
    end
end

local at = 2
while at <= #ARGV do
    local id, outcome = ARGV[at], ARGV[at + 1]
    at = at + 2
    local list = {}
    if outcome == 'freed' then
        local customer = ARGV[at]
        list, at = pairs_at(at + 1)
        if is_loaded then
            if limit > 0 and customer ~= '' then
                redis.call('HSET', KEYS[4], customer, '0 0 ?') -- he may have others
            end
            reliefs = tostring(redis.call('HINCRBY', KEYS[1], 'reliefs', 1))
        end
        for _, one in ipairs(list) do
            change('a:' .. one.location, one.number)
        end
    elseif outcome == 'sold' then
        list, at = pairs_at(at)
        for _, one in ipairs(list) do
            change('a:' .. one.location, -one.number)
        end
    else
        close(id, outcome)
    end
end
if not is_loaded then
    return 0
end
for field, by in pairs(changes) do
    redis.call('HINCRBY', KEYS[1], field, string.format('%.0f', by))
end
return 1
