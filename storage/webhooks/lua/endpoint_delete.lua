-- ARGV: id, tenant, tombstone ttl s
-- -> ok; missing
-- What waits for it is given up by whoever claims it next.
local id, tenant = ARGV[1], ARGV[2]

if redis.call('HGET', W.endpoint .. id, 'tenant') ~= tenant then
  return {redis.call('GET', W.gone .. id) == tenant and 'ok' or 'missing'}
end
redis.call('SET', W.gone .. id, tenant, 'EX', ARGV[3])
redis.call('HDEL', W.routes .. tenant, id)
redis.call('ZREM', W.endpoints .. tenant, id)
redis.call('DEL', W.endpoint .. id)
return {'ok'}
