-- ARGV: id, tenant, the revision that is replaced, key of the new source, its bytes, most bytes of a tenant, consents
--       with blanks between them, then field, value, ... of the record
-- -> ok + the record; missing; moved + the revision it has; no consent + which is not there; refused + limit + held + most + ''
-- What was built from the old recording goes with it: no cache of an old revision is ever served.
local id, tenant, revision, source, bytes = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local FIRST_FIELD = 8

if not is_owner(tenant, id) then return {'missing'} end
local current, old, held = unpack(redis.call('HMGET', V.voice .. id, 'revision', 'source_key', 'stored_bytes'))
if old == source then return {'ok', record(id)} end
if tonumber(current) ~= revision then return {'moved', current} end
local change = bytes - (tonumber(held) or 0)
local absent = missing_consent(tenant, ARGV[7])
if absent then return {'no consent', absent} end
local refusal = stored_refusal(tenant, change, ARGV[6])
if refusal then return refusal end
drop_caches(tenant, id, READING_MS)
discard('k|' .. old, READING_MS)
cite(id, ARGV[7])
add_stored(tenant, 'voices', id, change)
redis.call('HDEL', V.voice .. id, 'consent')
redis.call('HSET', V.voice .. id, 'revision', text(revision + 1), 'source_key', source, 'stored_bytes', text(bytes),
  'updated_at_ms', text(now), unpack(ARGV, FIRST_FIELD))
return {'ok', record(id)}
