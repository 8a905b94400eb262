-- SPDX-License-Identifier: Apache-2.0
-- Decides which requests for units of one SKU may go on to PostgreSQL, each in one atomic step:
-- sale window, customer's limit, availability. What goes on is noted by its idempotency key, so
-- that a request that is repeated is never refused here.
--
-- KEYS  1 state, 2 pending, 3 noted, 4 customers, 5 queue, 6 queued
-- ARGV  1 epoch, then of each request its reservation id, note, customer ('' is none), what to do
--       (take: the whole of this; queue: the same, and what is taken is put into the queue; ask:
--       let PostgreSQL decide; note: it was decided in another bucket), number of lines, of each
--       line location and quantity, and the text to be queued where it is to be queued
-- Returns {} when the SKU is not loaded under this epoch, or its notes are gone: then nothing is
-- noted. Else of each request a list: its verdict, then of each line what was available and what
-- was held; of a request that is repeated while it is in the queue the verdict and the text.
--
-- Where there is a queue, what was taken here is promised, and PostgreSQL does not know of it yet.
-- So nobody goes on to it for units that are not there for him here: what may come back from
-- requests under way is not counted on, and whoever repeats a request may only have what that has
-- made.
local TAKEN, ASK, SHORT, LIMIT, CLOSED, QUEUED, REPEATED = 1, 2, 3, 4, 5, 6, 7
local QUEUE_MAX = 4000  -- then PostgreSQL is waited for
local EDGE = 500        -- milliseconds around the edges of the sale in which PostgreSQL decides
local AGAIN = 10        -- added to the verdict of a request that may have what it has made already

local state = redis.call('HMGET', KEYS[1],
    'epoch', 'until', 'on_sale', 'opens', 'closes', 'limit', 'reliefs', 'async',
    'all_known')
if state[1] ~= ARGV[1] or redis.call('SISMEMBER', KEYS[3], '') == 0 then
    return {}
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local is_fresh = now < tonumber(state[2])
local opens, closes = tonumber(state[4]), tonumber(state[5])
local is_open = state[3] == '1' and now >= opens - EDGE and now < closes + EDGE
local limit = tonumber(state[6])
local is_async = state[8] == '1'
local queue_length = redis.call('XLEN', KEYS[5])

local levels = {}
local function level_at(location)
    local level = levels[location]
    if not level then
        local found = redis.call('HMGET', KEYS[1], 'a:' .. location, 'h:' .. location,
            'w:' .. location)
        level = {
            available = tonumber(found[1] or 0),
            held = tonumber(found[2] or 0), -- by those under way who have taken it here
            wanted = tonumber(found[3] or 0), -- by those who have gone on without
        }
        levels[location] = level
    end
    return level
end

local customers = {}
local function customer_of(name)
    local customer = customers[name]
    if not customer then
        local found = redis.call('HGET', KEYS[4], name) or '0 0'
        local has, wants, mark = string.match(found, '^(%d+) (%d+)(.*)$')
        customer = {has = tonumber(has), wants = tonumber(wants), mark = mark}
        customers[name] = customer
    end
    return customer
end

-- Whether PostgreSQL will say the same: the sale is open by any clock, all that the customer has is
-- known here, and some are left once all who went on without have theirs.
local function is_safe(name, lines)
    if now < opens + EDGE or now >= closes - EDGE then
        return false
    elseif limit > 0 and (state[9] ~= '1' or customer_of(name).mark ~= '') then
        return false
    end
    for _, line in ipairs(lines) do
        local level = level_at(line.location)
        if level.available - level.wanted < line.quantity then
            return false
        end
    end
    return true
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
            return is_async and LIMIT or ASK
        end
    end
    local verdict = TAKEN
    for _, line in ipairs(lines) do
        local level = level_at(line.location)
        if level.available + (is_async and 0 or level.held) < line.quantity then
            return SHORT
        elseif level.available < line.quantity then
            verdict = ASK
        end
    end
    return verdict
end

local answers, notes, noted, pending = {}, {}, {}, {}

local function is_noted_before(note)
    if noted[note] == nil then
        noted[note] = redis.call('SISMEMBER', KEYS[3], note) == 1
    end
    return noted[note]
end

-- The text a request has in the queue.
local function text_queued(note)
    local id = queue_length > 0 and is_noted_before(note) and redis.call('HGET', KEYS[6], note)
    if not id then
        return nil
    end
    local entry = string.match(redis.call('HGET', KEYS[6], id), '^%S+')
    local found = redis.call('XRANGE', KEYS[5], entry, entry)
    return found[1] and found[1][2][4]
end

local function queue(id, note, text)
    local entry = redis.call('XADD', KEYS[5], '*', 'id', id, 'request', text)
    redis.call('HSET', KEYS[6], note, id, id, entry .. ' ' .. note)
    queue_length = queue_length + 1
end

-- What happens to one request.
local function decide(note, name, wish, total, lines)
    local verdict = ASK
    if (wish == 'take' or wish == 'queue') and is_fresh then
        verdict = is_open and verdict_of(name, total, lines) or CLOSED
    end
    if verdict > ASK and is_noted_before(note) then
        return is_async and verdict + AGAIN or ASK
    elseif verdict == TAKEN and wish == 'queue' and is_async and not is_noted_before(note)
        and queue_length < QUEUE_MAX and is_safe(name, lines) then
        return QUEUED
    end
    return verdict
end

local at = 2
while at <= #ARGV do
    local id, note, name, wish, count = unpack(ARGV, at, at + 4)
    at = at + 5
    local lines, total, text = {}, 0, ''
    for i = 1, tonumber(count) do
        lines[i] = {location = ARGV[at], quantity = tonumber(ARGV[at + 1])}
        total = total + lines[i].quantity
        text = text .. ARGV[at] .. ' ' .. ARGV[at + 1] .. ' '
        at = at + 2
    end
    local queue_text
    if wish == 'queue' then
        queue_text = ARGV[at]
        at = at + 1
    end
    local earlier = wish ~= 'note' and text_queued(note)
    local verdict = earlier and REPEATED or decide(note, name, wish, total, lines)
    if verdict == QUEUED then
        queue(id, note, queue_text)
    end
    local is_taken = verdict == TAKEN or verdict == QUEUED
    local answer = earlier and {verdict, earlier} or {verdict}
    for _, line in ipairs(earlier and {} or lines) do
        local level = level_at(line.location)
        answer[#answer + 1] = level.available
        answer[#answer + 1] = is_async and 0 or level.held
        if is_taken then
            level.available = level.available - line.quantity
            level.held = level.held + line.quantity
            level.is_changed = true
        elseif verdict == ASK and wish ~= 'note' then
            level.wanted = level.wanted + line.quantity
            level.is_changed = true
        end
    end
    if (is_taken or verdict == ASK) and not noted[note] then
        noted[note] = true
        notes[#notes + 1] = note
    end
    -- Whoever is only asked about is pending as well: PostgreSQL may have it before we are told.
    if is_taken or (verdict == ASK and wish ~= 'note') then
        local kind = verdict == QUEUED and 'queued' or is_taken and 'taken' or 'asked'
        pending[#pending + 1] = id
        pending[#pending + 1] =
            table.concat({kind, now, state[7], count, text .. name}, ' ')
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
                'h:' .. location, string.format('%.0f', level.held),
                'w:' .. location, string.format('%.0f', level.wanted))
        end
    end
    for name, customer in pairs(customers) do
        if customer.is_changed then
            redis.call('HSET', KEYS[4], name,
                string.format('%.0f %.0f', customer.has, customer.wants) .. customer.mark)
        end
    end
end
return answers
