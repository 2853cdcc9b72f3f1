-- Endpoints and the secrets that sign for them.

-- call: endpoint, tenant, events (comma-separated), secrets (as JSON), fields (of the record)
-- -> created + record; refused
register('webhook_endpoint_create', function(call)
  local id, tenant, events = call.endpoint, call.tenant, call.events

  -- A repeated call: ids are drawn once.
  if redis.call('HGET', W.endpoint .. id, 'tenant') ~= tenant then
    if redis.call('ZCARD', W.endpoints .. tenant) >= HOOK.MAX_ENDPOINTS then return {status = 'refused'} end
    local at = text(now)
    redis.call('HSET', W.endpoint .. id, 'id', id, 'tenant', tenant, 'events', events, 'secrets', call.secrets,
      'state', 'enabled', 'created_at_ms', at, 'updated_at_ms', at)
    write_hash(W.endpoint .. id, call.fields)
    redis.call('ZADD', W.endpoints .. tenant, 0, id)
    redis.call('HSET', W.routes .. tenant, id, events)
  end
  return {status = 'created', record = hash_at(W.endpoint .. id)}
end)

-- call: endpoint, tenant, state ('' leaves it), fields (of the record)
-- -> ok + record; missing
register('webhook_endpoint_update', function(call)
  local id, tenant, state = call.endpoint, call.tenant, call.state
  local key = W.endpoint .. id

  if redis.call('HGET', key, 'tenant') ~= tenant then return {status = 'missing'} end
  redis.call('HSET', key, 'updated_at_ms', text(now))
  write_hash(key, call.fields)
  if state == 'enabled' and redis.call('HGET', key, 'state') ~= 'enabled' then
    redis.call('HSET', key, 'state', 'enabled')
    redis.call('HDEL', key, 'disabled_reason')
    -- It is trusted again, as if it had never failed.
    redis.call('HDEL', W.target .. 'e:' .. id, 'failures', 'open_until_ms', 'failing_since_ms')
    webhooks.place('e:' .. id)
  elseif state == 'disabled' then
    webhooks.disable(id, tenant, 'by_user')
  end
  if redis.call('HGET', key, 'state') == 'enabled' then
    redis.call('HSET', W.routes .. tenant, id, redis.call('HGET', key, 'events'))
  end
  return {status = 'ok', record = hash_at(key)}
end)

-- What waits for it is given up by the claim that meets it.
-- call: endpoint, tenant, tombstone_ttl_s
-- -> ok; missing
register('webhook_endpoint_delete', function(call)
  local id, tenant = call.endpoint, call.tenant

  if redis.call('HGET', W.endpoint .. id, 'tenant') ~= tenant then
    return {status = redis.call('GET', W.gone .. id) == tenant and 'ok' or 'missing'}
  end
  redis.call('SET', W.gone .. id, tenant, 'EX', call.tombstone_ttl_s)
  redis.call('HDEL', W.routes .. tenant, id)
  redis.call('ZREM', W.endpoints .. tenant, id)
  redis.call('DEL', W.endpoint .. id)
  return {status = 'ok'}
end)

-- call: tenant, endpoint ('' for the secret of URLs that jobs name), sealed (a new secret), overlap_s (absent to rotate
--       nothing: the new one counts only where there is none yet)
-- -> ok + secrets (as JSON, the current one first); missing
register('webhook_secret', function(call)
  local tenant, endpoint, sealed, overlap = call.tenant, call.endpoint, call.sealed, call.overlap_s
  local key = endpoint == '' and W.secrets .. tenant or W.endpoint .. endpoint

  if endpoint ~= '' and redis.call('HGET', key, 'tenant') ~= tenant then return {status = 'missing'} end
  local known = redis.call('HGET', key, 'secrets')
  if known and not overlap then return {status = 'ok', secrets = known} end
  local kept = {{sealed = sealed}}
  for _, secret in ipairs(known and cjson.decode(known) or {}) do
    -- A repeated call: secrets are drawn once.
    if secret.sealed == sealed then return {status = 'ok', secrets = known} end
    local until_ms = math.min(secret.until_ms or math.huge, now + overlap * 1000)
    if until_ms > now and #kept < HOOK.MAX_SECRETS then
      kept[#kept + 1] = {sealed = secret.sealed, until_ms = until_ms}
    end
  end
  local secrets = cjson.encode(kept)
  redis.call('HSET', key, 'secrets', secrets)
  return {status = 'ok', secrets = secrets}
end)
