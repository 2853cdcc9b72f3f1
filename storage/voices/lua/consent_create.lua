-- ARGV: id, tenant, most consents and most bytes of a tenant, bytes of the recording, then field, value, ... of the record
-- -> created + the record; refused + limit + held + most + ''
local id, tenant, most, bytes = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[5])
local FIRST_FIELD = 6
local key = V.consent .. id

-- A repeated call: ids are drawn once.
if redis.call('HGET', key, 'tenant') == tenant then return {'created', redis.call('HGETALL', key)} end
local held = redis.call('ZCARD', V.consents .. tenant)
if held >= most then return {'refused', 'tenant_consents', text(held), text(most), ''} end
local refusal = stored_refusal(tenant, bytes, ARGV[4])
if refusal then return refusal end
redis.call('HSET', key, 'id', id, 'tenant', tenant, 'stored_bytes', text(bytes), 'created_at_ms', text(now),
  unpack(ARGV, FIRST_FIELD))
redis.call('ZADD', V.consents .. tenant, 0, id)
add_stored(tenant, 'consents', id, bytes)
return {'created', redis.call('HGETALL', key)}
