-- ARGV: id, tenant, name key, most voices of a tenant, then field, value, ... of the record
-- -> created + the record; taken + the voice that has the name; refused
local id, tenant, name = ARGV[1], ARGV[2], ARGV[3]
local FIRST_FIELD = 5

-- A repeated call: ids are drawn once.
if is_owner(tenant, id) then return {'created', record(id)} end
local holder = redis.call('HGET', V.names .. tenant, name)
if holder then return {'taken', holder} end
if redis.call('ZCARD', V.voices .. tenant) >= tonumber(ARGV[4]) then return {'refused'} end
redis.call('HSET', V.voice .. id, 'id', id, 'tenant', tenant, 'revision', 1, 'name_key', name,
  'created_at_ms', text(now), 'updated_at_ms', text(now), unpack(ARGV, FIRST_FIELD))
redis.call('HSET', V.names .. tenant, name, id)
redis.call('ZADD', V.voices .. tenant, 0, id)
tell_of_voice('voice.created', tenant, id)
return {'created', record(id)}
