-- ARGV: id, tenant, the revision that is replaced, key of the new source, its bytes, then field, value, ... of the record
-- -> ok + the record; missing; moved + the revision it has
-- What was built from the old recording goes with it: no cache of an old revision is ever served.
local id, tenant, revision, source = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local FIRST_FIELD = 6

if not is_owner(tenant, id) then return {'missing'} end
local current, old, bytes = unpack(redis.call('HMGET', V.voice .. id, 'revision', 'source_key', 'stored_bytes'))
if old == source then return {'ok', record(id)} end
if tonumber(current) ~= revision then return {'moved', current} end
drop_caches(tenant, id, READING_MS)
discard('k|' .. old, READING_MS)
add_stored(tenant, 'voices', tonumber(ARGV[5]) - (tonumber(bytes) or 0))
redis.call('HDEL', V.voice .. id, 'consent')
redis.call('HSET', V.voice .. id, 'revision', text(revision + 1), 'source_key', source, 'stored_bytes', ARGV[5], 'updated_at_ms', text(now),
  unpack(ARGV, FIRST_FIELD))
return {'ok', record(id)}
