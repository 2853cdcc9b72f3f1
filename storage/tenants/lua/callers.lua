-- A caller: whose key it is, and how often its tenant has asked.

-- The record of the key with this sha256; nil if there is none or it is over. Notes its use.
local function find_key(digest)
  local key = root .. ':apikey:' .. digest
  local tenant, expires, used = unpack(redis.call('HMGET', key, 'tenant', 'expires_at_ms', 'last_used_at_ms'))
  if not tenant or (expires and tonumber(expires) <= now) then return nil end
  if not used or now - tonumber(used) >= LAST_USE_STEP_MS then redis.call('HSET', key, 'last_used_at_ms', text(now)) end
  return hash_at(key)
end

-- How long until one more than now is free: as the window before fades, or, where this one is full by itself, as it does
-- in its turn. room: for requests of this window and the one before.
local function wait_for_room(present, before, passed, period, room)
  if before > 0 and present <= room then return period * (1 - (room - present) / before) - passed end
  if present > 0 then return period - passed + period * math.max(0, 1 - room / present) end
  return period - passed
end

-- call: key (its sha256) or tenant, most (requests), period_ms
-- -> ok + is_admitted, left (how many), wait_ms (until more are), record (of the key, if one was given); unknown
register('identify', function(call)
  local record = call.key and find_key(call.key)
  if call.key and not record then return {status = 'unknown'} end
  local tenant, most, period = record and record.tenant or call.tenant, call.most, call.period_ms
  local window = math.floor(now / period)
  local passed = now - window * period
  local name = root .. ':rate:' .. tenant .. ':'
  local counts = redis.call('MGET', name .. window, name .. window - 1)
  local present, before = tonumber(counts[1]) or 0, tonumber(counts[2]) or 0
  local held = present + before * (1 - passed / period)
  local is_admitted = held + 1 <= most
  if is_admitted then
    present, held = redis.call('INCR', name .. window), held + 1
    if present == 1 then redis.call('PEXPIRE', name .. window, 2 * period) end
  end
  local left = math.floor(most - held)
  local wait_ms = math.ceil(wait_for_room(present, before, passed, period, most - left - 1))
  return {status = 'ok', is_admitted = is_admitted, left = math.max(0, left), wait_ms = wait_ms, record = record or {}}
end)
