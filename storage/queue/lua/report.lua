-- ARGV: worker name, what it says of itself as JSON, silence ms after which a worker is forgotten
-- -> ok + 1 if it shall claim nothing, else 0
local name, said, forgotten_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local MOST_FORGOTTEN = 100 -- by one call

for _, gone in ipairs(redis.call('ZRANGEBYSCORE', K.heard, '-inf', text(now - forgotten_ms), 'LIMIT', 0, MOST_FORGOTTEN)) do
  redis.call('HDEL', K.worker_registry, gone)
  redis.call('ZREM', K.heard, gone)
end
redis.call('HSET', K.worker_registry, name, said)
redis.call('ZADD', K.heard, text(now), name)
return answer('ok', redis.call('HEXISTS', K.draining, name))
