-- Uploads count against their tenant's bytes.

-- call: upload, tenant, bytes, most_stored_bytes (of a tenant; absent for no limit)
-- -> ok; refused + see `stored_refusal`
-- Counted from now on: the link can be used without a further question.
register('upload_order', function(call)
  local id, tenant, bytes = call.upload, call.tenant, call.bytes

  if redis.call('HGET', K.upload .. id, 'tenant') == tenant then return {status = 'ok'} end
  local refusal = stored_refusal(tenant, bytes, call.most_stored_bytes)
  if refusal then return refusal end
  redis.call('HSET', K.upload .. id, 'tenant', tenant, 'stored_bytes', text(bytes))
  redis.call('ZADD', K.uploads .. tenant, 0, id)
  add_stored(tenant, 'uploads', id, bytes)
  return {status = 'ok'}
end)

-- call: upload, tenant, bytes (that lie in the store, 0 for nothing)
-- -> ok + change (how many more or fewer than were counted)
register('upload_settle', function(call)
  local id, tenant, bytes = call.upload, call.tenant, call.bytes
  local key = K.upload .. id

  local owner, counted = unpack(redis.call('HMGET', key, 'tenant', 'stored_bytes'))
  if owner and owner ~= tenant then return {status = 'ok', change = 0} end
  if bytes == 0 then
    redis.call('DEL', key)
    redis.call('ZREM', K.uploads .. tenant, id)
  else
    redis.call('HSET', key, 'tenant', tenant, 'stored_bytes', text(bytes))
    redis.call('ZADD', K.uploads .. tenant, 0, id)
  end
  local change = bytes - (tonumber(counted) or 0)
  add_stored(tenant, 'uploads', id, change)
  return {status = 'ok', change = change}
end)
