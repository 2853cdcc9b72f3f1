-- What tenants hold and may hold, for the scripts of jobs and of voices. `K` is generated in front of this.

-- The tenant's own limit, or the one for all; an empty one is none.
local function limit_of(tenant, name, default)
  return tonumber(redis.call('HGET', K.quotas .. tenant, name) or default) or math.huge
end

-- Bytes of the tenant's objects, by where they lie: jobs, voices or uploads.
local function add_stored(tenant, place, bytes)
  if bytes == 0 then return end
  local key = K.stored .. tenant
  if redis.call('HINCRBY', key, place, string.format('%.0f', bytes)) == 0 then redis.call('HDEL', key, place) end
end

local function stored_of(tenant)
  local bytes = 0
  for _, each in ipairs(redis.call('HVALS', K.stored .. tenant)) do bytes = bytes + tonumber(each) end
  return bytes
end
