-- ARGV: id, tenant, tombstone ttl s
-- -> ok; missing
local id, tenant = ARGV[1], ARGV[2]

if not is_owner(tenant, id) then
  return {redis.call('GET', V.gone .. id) == tenant and 'ok' or 'missing'}
end
local name, source, bytes = unpack(redis.call('HMGET', V.voice .. id, 'name_key', 'source_key', 'stored_bytes'))
add_stored(tenant, 'voices', id, 0 - (tonumber(bytes) or 0))
redis.call('SET', V.gone .. id, tenant, 'EX', ARGV[3])
enqueue_voice_event('voice.deleted', tenant, id)
drop_caches(tenant, id, 0)
discard('k|' .. source, 0)
cite(id, '')
redis.call('HDEL', V.names .. tenant, name)
redis.call('ZREM', V.voices .. tenant, id)
redis.call('DEL', V.voice .. id)
return {'ok'}
