-- ARGV: id, tenant, name key, most voices and most bytes of a tenant, bytes of the source, consents with blanks between
--       them, then field, value, ... of the record
-- -> created + the record; taken + the voice that has the name; no consent + which is not there;
--    refused + limit + held + most + ''
local id, tenant, name, bytes = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[6])
local FIRST_FIELD = 8

-- A repeated call: ids are drawn once.
if is_owner(tenant, id) then return {'created', record(id)} end
local holder = redis.call('HGET', V.names .. tenant, name)
if holder then return {'taken', holder} end
local missing = missing_consent(tenant, ARGV[7])
if missing then return {'no consent', missing} end
local voices, most_voices = redis.call('ZCARD', V.voices .. tenant), limit_of(tenant, 'voices', ARGV[4])
if voices >= most_voices then
  enqueue_quota_event(tenant, 'voices', voices, most_voices)
  return {'refused', 'tenant_voices', text(voices), text(most_voices), ''}
end
local refusal = stored_refusal(tenant, bytes, ARGV[5])
if refusal then return refusal end
redis.call('HSET', V.voice .. id, 'id', id, 'tenant', tenant, 'revision', 1, 'name_key', name,
  'stored_bytes', text(bytes), 'created_at_ms', text(now), 'updated_at_ms', text(now), unpack(ARGV, FIRST_FIELD))
cite(id, ARGV[7])
add_stored(tenant, 'voices', id, bytes)
redis.call('HSET', V.names .. tenant, name, id)
redis.call('ZADD', V.voices .. tenant, 0, id)
enqueue_voice_event('voice.created', tenant, id)
return {'created', record(id)}
