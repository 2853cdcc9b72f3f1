-- ARGV: queue, worker name, slots (0 when it leaves), ttl ms
-- -> ok + slots of the queue's workers
local key, worker, slots, ttl_ms = K.worker_slots .. ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local known = redis.call('HGETALL', key)
for i = 1, #known, 2 do
  if tonumber(string.match(known[i + 1], '|(%d+)$')) <= now then redis.call('HDEL', key, known[i]) end
end
if slots > 0 then
  redis.call('HSET', key, worker, text(slots) .. '|' .. text(now + ttl_ms))
  redis.call('PEXPIRE', key, text(ttl_ms))
else
  redis.call('HDEL', key, worker)
end
return answer('ok', worker_slots(ARGV[1]))
