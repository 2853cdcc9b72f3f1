-- ARGV: upload, tenant, bytes that lie in the store, 0 for nothing
-- -> how many more or fewer than were counted
local id, tenant, bytes = ARGV[1], ARGV[2], tonumber(ARGV[3])
local key = K.upload .. id

local owner, counted = unpack(redis.call('HMGET', key, 'tenant', 'stored_bytes'))
if owner and owner ~= tenant then return 0 end
if bytes == 0 then
  redis.call('DEL', key)
  redis.call('ZREM', K.uploads .. tenant, id)
else
  redis.call('HSET', key, 'tenant', tenant, 'stored_bytes', string.format('%.0f', bytes))
  redis.call('ZADD', K.uploads .. tenant, 0, id)
end
local change = bytes - (tonumber(counted) or 0)
add_stored(tenant, 'uploads', id, change)
return change
