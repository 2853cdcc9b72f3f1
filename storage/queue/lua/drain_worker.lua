-- ARGV: worker name, '1' to drain it or '' to let it claim again, ms after which a wish of this kind is forgotten
-- -> ok; unknown
local name, kept_ms = ARGV[1], tonumber(ARGV[3])
if redis.call('HEXISTS', K.worker_registry, name) == 0 and redis.call('HEXISTS', K.draining, name) == 0 then
  return answer('unknown')
end
local wishes = redis.call('HGETALL', K.draining)
for i = 1, #wishes, 2 do
  if tonumber(wishes[i + 1]) + kept_ms < now then redis.call('HDEL', K.draining, wishes[i]) end
end
if ARGV[2] == '1' then
  redis.call('HSETNX', K.draining, name, text(now))
else
  redis.call('HDEL', K.draining, name)
end
return answer('ok')
