-- Consents of the people whose voices these are.

-- call: consent, tenant, most_consents, most_stored_bytes (of a tenant; absent for no limit), bytes (of the recording),
--       fields (of the record)
-- -> created + record; refused + see `stored_refusal`
register('consent_create', function(call)
  local id, tenant, most, bytes = call.consent, call.tenant, call.most_consents, call.bytes
  local key = V.consent .. id

  -- A repeated call: ids are drawn once.
  if redis.call('HGET', key, 'tenant') == tenant then return {status = 'created', record = hash_at(key)} end
  local held = redis.call('ZCARD', V.consents .. tenant)
  if held >= most then return refused('tenant_consents', held, most) end
  local refusal = stored_refusal(tenant, bytes, call.most_stored_bytes)
  if refusal then return refusal end
  redis.call('HSET', key, 'id', id, 'tenant', tenant, 'stored_bytes', text(bytes), 'created_at_ms', text(now))
  write_hash(key, call.fields)
  redis.call('ZADD', V.consents .. tenant, 0, id)
  add_stored(tenant, 'consents', id, bytes)
  return {status = 'created', record = hash_at(key)}
end)

-- call: consent, tenant, recording (its key, or '')
-- -> ok; missing; cited + voices (how many rest on it)
register('consent_delete', function(call)
  local id, tenant, recording = call.consent, call.tenant, call.recording
  local key = V.consent .. id

  local owner, bytes = unpack(redis.call('HMGET', key, 'tenant', 'stored_bytes'))
  if owner ~= tenant then return {status = 'missing'} end
  local voices = redis.call('SCARD', V.cited .. id)
  if voices > 0 then return {status = 'cited', voices = voices} end
  add_stored(tenant, 'consents', id, 0 - (tonumber(bytes) or 0))
  if recording ~= '' then discard('k|' .. recording, 0) end
  redis.call('ZREM', V.consents .. tenant, id)
  redis.call('DEL', key)
  return {status = 'ok'}
end)
