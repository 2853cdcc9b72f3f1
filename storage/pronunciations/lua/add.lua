-- ARGV: dictionary, tenant, name or '' (a further version), version as JSON without its time, its upload's id, its bytes,
--       most dictionaries, most versions, most bytes of a tenant
-- -> ok + version + the record | missing | full + limit | refused + limit + held + most + ''
local id, tenant, name, entry, upload = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local bytes, most_dictionaries, most_versions = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local key, list = P.dictionary .. id, P.dictionaries .. tenant

local function done(version) return {'ok', version, redis.call('HGETALL', key)} end

local owner = redis.call('HGET', key, 'tenant')
if owner and owner ~= tenant then return {'missing'} end
local latest = tonumber(redis.call('HGET', key, 'latest')) or 0
if latest > 0 then
  -- A repeat whose first answer was lost.
  local known = cjson.decode(redis.call('HGET', key, 'v' .. latest))
  if known.upload == upload then return done(latest) end
end
if name == '' then
  if not owner then return {'missing'} end
  if latest >= most_versions then return {'full', 'versions'} end
elseif redis.call('ZCARD', list) >= most_dictionaries then
  return {'full', 'dictionaries'}
end
local refusal = stored_refusal(tenant, bytes, ARGV[9])
if refusal then return refusal end
if name ~= '' then
  redis.call('HSET', key, 'id', id, 'tenant', tenant, 'name', name, 'created_at_ms', string.format('%.0f', clock()))
  redis.call('ZADD', list, 0, id)
end
local version = cjson.decode(entry)
version.created_at_ms = clock()
redis.call('HSET', key, 'latest', latest + 1, 'v' .. (latest + 1), cjson.encode(version))
redis.call('HINCRBY', key, 'stored_bytes', string.format('%.0f', bytes))
add_stored(tenant, 'dictionaries', id, bytes)
return done(latest + 1)
