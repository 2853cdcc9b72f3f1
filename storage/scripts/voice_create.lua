-- ARGV: id, tenant, name key, most voices and most bytes of a tenant, bytes of the source, then field, value, ... of the
--       record
-- -> created + the record; taken + the voice that has the name; refused + limit + held + most + ''
local id, tenant, name, bytes = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[6])
local FIRST_FIELD = 7

-- A repeated call: ids are drawn once.
if is_owner(tenant, id) then return {'created', record(id)} end
local holder = redis.call('HGET', V.names .. tenant, name)
if holder then return {'taken', holder} end
local voices, most_voices = redis.call('ZCARD', V.voices .. tenant), limit_of(tenant, 'voices', ARGV[4])
if voices >= most_voices then return {'refused', 'tenant_voices', text(voices), text(most_voices), ''} end
local stored, most_stored = stored_of(tenant), limit_of(tenant, 'stored_bytes', ARGV[5])
if stored + bytes > most_stored then
  return {'refused', 'tenant_stored_bytes', text(stored), text(most_stored), ''}
end
redis.call('HSET', V.voice .. id, 'id', id, 'tenant', tenant, 'revision', 1, 'name_key', name,
  'stored_bytes', text(bytes), 'created_at_ms', text(now), 'updated_at_ms', text(now), unpack(ARGV, FIRST_FIELD))
add_stored(tenant, 'voices', bytes)
redis.call('HSET', V.names .. tenant, name, id)
redis.call('ZADD', V.voices .. tenant, 0, id)
tell_of_voice('voice.created', tenant, id)
return {'created', record(id)}
