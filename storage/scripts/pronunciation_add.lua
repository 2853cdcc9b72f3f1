-- ARGV: the dictionary's key, the key of the tenant's list, dictionary, tenant, name or '' (a further version),
--       version as JSON without its time, its upload's id, most dictionaries, most versions
-- -> ok + version + the record | missing | full + limit
local key, list, id, tenant, name = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local entry, upload, most_dictionaries, most_versions = ARGV[6], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])

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
else
  if redis.call('ZCARD', list) >= most_dictionaries then return {'full', 'dictionaries'} end
  redis.call('HSET', key, 'id', id, 'tenant', tenant, 'name', name, 'created_at_ms', string.format('%.0f', clock()))
  redis.call('ZADD', list, 0, id)
end
local version = cjson.decode(entry)
version.created_at_ms = clock()
redis.call('HSET', key, 'latest', latest + 1, 'v' .. (latest + 1), cjson.encode(version))
return done(latest + 1)
