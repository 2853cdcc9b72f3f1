-- ARGV: id, tenant, events (comma-separated), secrets as JSON, then field, value, ... of the record
-- -> created + the record; refused
local id, tenant, events = ARGV[1], ARGV[2], ARGV[3]
local FIRST_FIELD = 5

-- A repeated call: ids are drawn once.
if redis.call('HGET', W.endpoint .. id, 'tenant') ~= tenant then
  if redis.call('ZCARD', W.endpoints .. tenant) >= HOOK.MAX_ENDPOINTS then return {'refused'} end
  local at = webhooks.text(webhooks.now)
  redis.call('HSET', W.endpoint .. id, 'id', id, 'tenant', tenant, 'events', events, 'secrets', ARGV[4],
    'state', 'enabled', 'created_at_ms', at, 'updated_at_ms', at, unpack(ARGV, FIRST_FIELD))
  redis.call('ZADD', W.endpoints .. tenant, 0, id)
  redis.call('HSET', W.routes .. tenant, id, events)
end
return {'created', redis.call('HGETALL', W.endpoint .. id)}
