-- ARGV: dictionary, tenant
-- -> ok, also where it is not there any more | missing (another tenant's)
local id, tenant = ARGV[1], ARGV[2]
local key = P.dictionary .. id

local owner, bytes = unpack(redis.call('HMGET', key, 'tenant', 'stored_bytes'))
if not owner then return {'ok'} end
if owner ~= tenant then return {'missing'} end
-- One of a version that did not count has no number.
add_stored(tenant, 'dictionaries', id, 0 - (tonumber(bytes) or 0))
redis.call('ZREM', P.dictionaries .. tenant, id)
redis.call('DEL', key)
return {'ok'}
