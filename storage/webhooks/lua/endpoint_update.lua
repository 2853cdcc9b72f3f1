-- ARGV: id, tenant, state ('' leaves it), then field, value, ... of the record
-- -> ok + the record; missing
local id, tenant, state = ARGV[1], ARGV[2], ARGV[3]
local FIRST_FIELD = 4
local key = W.endpoint .. id

if redis.call('HGET', key, 'tenant') ~= tenant then return {'missing'} end
redis.call('HSET', key, 'updated_at_ms', webhooks.text(webhooks.now), unpack(ARGV, FIRST_FIELD))
if state == 'enabled' and redis.call('HGET', key, 'state') ~= 'enabled' then
  redis.call('HSET', key, 'state', 'enabled')
  redis.call('HDEL', key, 'disabled_reason')
  -- It is believed anew, as if it had never failed.
  redis.call('HDEL', W.target .. 'e:' .. id, 'failures', 'open_until_ms', 'failing_since_ms')
  webhooks.place('e:' .. id)
elseif state == 'disabled' then
  webhooks.disable(id, tenant, 'by_user')
end
if redis.call('HGET', key, 'state') == 'enabled' then
  redis.call('HSET', W.routes .. tenant, id, redis.call('HGET', key, 'events'))
end
return {'ok', redis.call('HGETALL', key)}
