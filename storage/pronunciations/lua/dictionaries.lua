-- Pronunciation dictionaries and their versions.

-- call: dictionary, tenant, name ('' for a further version), version (without its time), most_dictionaries,
--       most_versions
-- -> ok + version, record | missing | full + limit
register('pronunciation_add', function(call)
  local id, tenant, name, version = call.dictionary, call.tenant, call.name, call.version
  local most_dictionaries, most_versions = call.most_dictionaries, call.most_versions
  local key, list = P.dictionary .. id, P.dictionaries .. tenant

  local function done(number) return {status = 'ok', version = number, record = hash_at(key)} end

  local owner = redis.call('HGET', key, 'tenant')
  if owner and owner ~= tenant then return {status = 'missing'} end
  local latest = tonumber(redis.call('HGET', key, 'latest')) or 0
  if latest > 0 then
    -- A repeat whose first answer was lost.
    local known = cjson.decode(redis.call('HGET', key, 'v' .. latest))
    if known.upload == version.upload then return done(latest) end
  end
  if name == '' then
    if not owner then return {status = 'missing'} end
    if latest >= most_versions then return {status = 'full', limit = 'versions'} end
  elseif redis.call('ZCARD', list) >= most_dictionaries then
    return {status = 'full', limit = 'dictionaries'}
  end
  if name ~= '' then
    redis.call('HSET', key, 'id', id, 'tenant', tenant, 'name', name, 'created_at_ms', text(now))
    redis.call('ZADD', list, 0, id)
  end
  version.created_at_ms = now
  redis.call('HSET', key, 'latest', latest + 1, 'v' .. (latest + 1), cjson.encode(version))
  return done(latest + 1)
end)

-- call: dictionary, tenant
-- -> ok, also where it is not there any more | missing (another tenant's)
register('pronunciation_delete', function(call)
  local id, tenant = call.dictionary, call.tenant
  local key = P.dictionary .. id

  local owner = redis.call('HGET', key, 'tenant')
  if not owner then return {status = 'ok'} end
  if owner ~= tenant then return {status = 'missing'} end
  redis.call('ZREM', P.dictionaries .. tenant, id)
  redis.call('DEL', key)
  return {status = 'ok'}
end)
