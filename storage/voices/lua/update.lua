-- ARGV: id, tenant, name key or '', then field, value, ... of the record
-- -> ok + the record; missing; taken + the voice that has the name
local id, tenant, name = ARGV[1], ARGV[2], ARGV[3]
local FIRST_FIELD = 4

if not is_owner(tenant, id) then return {'missing'} end
local old = redis.call('HGET', V.voice .. id, 'name_key')
if name ~= '' and name ~= old then
  local holder = redis.call('HGET', V.names .. tenant, name)
  if holder then return {'taken', holder} end
  redis.call('HDEL', V.names .. tenant, old)
  redis.call('HSET', V.names .. tenant, name, id)
  redis.call('HSET', V.voice .. id, 'name_key', name)
end
redis.call('HSET', V.voice .. id, 'updated_at_ms', text(now), unpack(ARGV, FIRST_FIELD))
return {'ok', record(id)}
