-- What tenants hold and may hold: jobs, voices and whatever else is stored.

-- The tenant's own limit, or `default`, the one for all; nil is none.
local function limit_of(tenant, name, default)
  return tonumber(redis.call('HGET', K.quotas .. tenant, name) or default) or math.huge
end

-- Tells that a tenant's limit has refused something: once a day (UTC) for each limit, however often it does. name: one
-- of the quotas, as they are kept.
local function enqueue_quota_event(tenant, name, held, most)
  local DAY_S, event = 86400, 'usage.quota_reached'
  if next(webhooks.receivers(tenant, event, false)) == nil then return end
  local period = text(math.floor(now / 1000 / DAY_S))
  local told = K.quota_told .. table.concat({tenant, name, period}, ':')
  if not redis.call('SET', told, 1, 'NX', 'EX', DAY_S) then return end
  local function subject() return table.concat({tenant, name, period}, '|') end
  webhooks.enqueue_webhook(tenant, event, '', false, subject, function()
    return {quota = name, held = held, limit = most, at_ms = now}
  end)
end

-- Byte by byte: Lua's own comparison follows the server's locale.
local function is_after(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x > y end
  end
  return #a > #b
end

-- An audit of the tenant's bytes has met every record up to the place and id that it has reached; what becomes of those
-- it is told here, and the others it will find as they are by then.
local function follow_stored(tenant, place, id, bytes)
  local counter_audit = K.stored_bytes_audit .. tenant
  local reached = redis.call('HGET', counter_audit, 'reached')
  if reached and not is_after(place .. '|' .. id, reached) then
    redis.call('HINCRBY', counter_audit, 'sum:' .. place, text(bytes))
  end
end

-- Bytes of the tenant's objects, by where they lie: dictionaries, jobs, uploads or voices. id: of the record
-- that they go with.
local function add_stored(tenant, place, id, bytes)
  if bytes == 0 then return end
  local key = K.stored .. tenant
  local held = redis.call('HINCRBY', key, place, text(bytes))
  if held == 0 then redis.call('HDEL', key, place) end
  if held == bytes then redis.call('SADD', K.storers, tenant) end
  follow_stored(tenant, place, id, bytes)
end

local function stored_of(tenant)
  local bytes = 0
  for _, each in ipairs(redis.call('HVALS', K.stored .. tenant)) do bytes = bytes + tonumber(each) end
  return bytes
end

-- What waiting does not help.
local function refused(limit, held, most)
  return {status = 'refused', limit = limit, held = text(held), most = text(most), wait_s = ''}
end

-- The answer that refuses so many bytes more, or nil. default: the limit for all; nil for none.
local function stored_refusal(tenant, bytes, default)
  local held, most = stored_of(tenant), limit_of(tenant, 'stored_bytes', default)
  if bytes <= 0 or held + bytes <= most then return nil end
  enqueue_quota_event(tenant, 'stored_bytes', held, most)
  return refused('tenant_stored_bytes', held, most)
end
