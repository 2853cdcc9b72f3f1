-- ARGV: upload, tenant, bytes, most bytes of a tenant
-- -> ok; refused + limit + held + most + ''
-- Counted from now on: the link can be used without anybody's being asked again.
local id, tenant, bytes = ARGV[1], ARGV[2], tonumber(ARGV[3])

if redis.call('HGET', K.upload .. id, 'tenant') == tenant then return {'ok'} end
local refusal = stored_refusal(tenant, bytes, ARGV[4])
if refusal then return refusal end
redis.call('HSET', K.upload .. id, 'tenant', tenant, 'stored_bytes', string.format('%.0f', bytes))
redis.call('ZADD', K.uploads .. tenant, 0, id)
add_stored(tenant, 'uploads', id, bytes)
return {'ok'}
