-- One call of a function: its keys, its time, its answer; and how functions are registered.
--
-- The server builds this text once and keeps its locals from call to call. What belongs to one call is therefore set at
-- the head of each, by `begin`. While the text is loaded there is no redis.call, no ipairs and no unpack.

local root -- what all keys of the call begin with
local K, W, V, P = {}, {}, {}, {} -- key names of jobs, webhooks, voices, dictionaries; those of families end in a colon
local now -- Unix milliseconds of the server: no client's clock decides anything
local tickets -- queue -> items made ready
local audit_epoch -- of the counter audit under way, once it was looked up
-- Tickets for deliveries that the call has made, endpoints of tenants it has met, and the functions of lib.lua.
local webhooks = {made = 0, routes = {}}

-- Never of -x: a negated zero reads "-0", which Redis takes for no integer.
local function text(number) return string.format('%.0f', number) end

local function name_keys(keys, names, prefix)
  for _, name in ipairs(names.families) do keys[name] = prefix .. ':' .. name .. ':' end
  for _, name in ipairs(names.singles) do keys[name] = prefix .. ':' .. name end
end

local function server_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Given once, also by a server that lost its last writes: its counter went back, and in that time the clock went on by
-- more microseconds than claims were made.
local function next_fence(counter) return text(now * 1000 + redis.call('INCR', counter)) end

local function begin(given_root, given_ms)
  if given_root ~= root then
    for _, part in ipairs({{K, KEY_NAMES.K}, {W, KEY_NAMES.W}, {V, KEY_NAMES.V}, {P, KEY_NAMES.P}}) do
      name_keys(part[1], part[2], given_root .. part[2].subroot)
    end
    root = given_root
  end
  now = given_ms or server_ms()
  tickets = {}
  audit_epoch = nil
  webhooks.made = 0
  webhooks.routes = {}
end

-- A function takes one table, the call's arguments, and returns one, its answer; both travel as JSON. What names
-- something (a job, a fence) is a string, what is reckoned with a number.
local function callback_of(body)
  return function(keys, arguments)
    local call = cjson.decode(arguments[1])
    begin(keys[1], call.now_ms)
    return cjson.encode(body(call))
  end
end

local function register(name, body)
  redis.register_function(LIBRARY .. '_' .. name, callback_of(body))
end

-- As `register`, for what writes nothing: a server without memory or disk to spare still answers it.
local function register_reader(name, body)
  redis.register_function({function_name = LIBRARY .. '_' .. name, callback = callback_of(body), flags = {'no-writes'}})
end

-- Every answer about jobs has a status and says what became ready.
local function answer(status, fields)
  local reply = fields or {}
  if webhooks.made > 0 then tickets.hooks = webhooks.made end
  reply.status, reply.tickets = status, tickets
  return reply
end

-- Tickets. Where workers run one item for a ticket, each item that becomes ready needs one. If they claim several at a
-- time (see `claim_several`) one wakes a worker, which then looks by itself until it has found nothing for a while:
-- none is sent while one looks, nor as long as the last may be on its way. What that loses the janitor finds.

local RUNG_MS = 5000 -- a ticket is taken within milliseconds, unless all workers are busy or it was lost

local function is_rung(queue)
  local key = K.awake .. queue
  local looking, rung = unpack(redis.call('HMGET', key, 'looking', 'rung'))
  if not looking then return false end
  if tonumber(looking) > now or tonumber(rung) > now then return true end
  redis.call('HSET', key, 'rung', text(now + RUNG_MS))
  tickets[queue] = 1
  return true
end

local function add_tickets(queue, count)
  if count <= 0 or queue ~= 'cpu' and is_rung(queue) then return end
  tickets[queue] = (tickets[queue] or 0) + count
end

-- The hash there as a table; an empty one if there is none.
local function hash_at(key)
  local flat, hash = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do hash[flat[i]] = flat[i + 1] end
  return hash
end

-- HSET of all of these.
local function write_hash(key, fields)
  local flat = {}
  for name, value in pairs(fields) do
    flat[#flat + 1] = name
    flat[#flat + 1] = value
  end
  if #flat > 0 then redis.call('HSET', key, unpack(flat)) end
end

-- HSET of what changes of a record, in its table too. Numbers are whole.
local function change_record(record, key, changes)
  local flat = {}
  for name, value in pairs(changes) do
    record[name] = value
    flat[#flat + 1] = name
    flat[#flat + 1] = type(value) == 'number' and text(value) or value
  end
  redis.call('HSET', key, unpack(flat))
end
