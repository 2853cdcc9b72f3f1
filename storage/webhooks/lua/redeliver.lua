-- ARGV: delivery, tenant
-- -> ok + the record; missing; conflict + state (an attempt is due or under way already)
local id, tenant = ARGV[1], ARGV[2]
local key = W.delivery .. id
local owner, target, state = unpack(redis.call('HMGET', key, 'tenant', 'target', 'state'))

if owner ~= tenant then return {'missing'} end
if state == 'sending' then return {'conflict', state} end
redis.call('HSET', key, 'tries', 0, 'reason', '')
if state ~= 'pending' then
  redis.call('HDEL', key, 'ended_at_ms')
  redis.call('PERSIST', key)
  redis.call('PERSIST', W.attempts .. id)
  redis.call('ZREM', W.ended .. target, id)
end
-- One that waits for its next attempt gets it now.
webhooks.wait(id, target, webhooks.now)
webhooks.place(target)
return {'ok', redis.call('HGETALL', key)}
