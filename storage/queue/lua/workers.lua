-- What workers say of themselves, and which of them shall claim nothing.

-- call: queue, worker (its name), slots (0 when it leaves), ttl_ms
-- -> ok
register('announce', function(call)
  local key, worker, slots, ttl_ms = K.worker_slots .. call.queue, call.worker, call.slots, call.ttl_ms
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
  return answer('ok')
end)

-- call: queue
-- -> ok + slots (of the queue's workers)
register_reader('worker_slots', function(call)
  return answer('ok', {slots = worker_slots(call.queue)})
end)

-- call: worker (its name), report (what it says of itself, as JSON), forgotten_ms (silence after which a worker is
--       forgotten)
-- -> ok + is_draining (whether it shall claim nothing)
register('report', function(call)
  local name, said, forgotten_ms = call.worker, call.report, call.forgotten_ms
  local MOST_FORGOTTEN = 100 -- by one call

  for _, gone in ipairs(redis.call('ZRANGEBYSCORE', K.heard, '-inf', text(now - forgotten_ms), 'LIMIT', 0, MOST_FORGOTTEN)) do
    redis.call('HDEL', K.worker_registry, gone)
    redis.call('ZREM', K.heard, gone)
  end
  redis.call('HSET', K.worker_registry, name, said)
  redis.call('ZADD', K.heard, text(now), name)
  return answer('ok', {is_draining = redis.call('HEXISTS', K.draining, name) == 1})
end)

-- call: worker (its name), drains (whether it shall drain or claim again), kept_ms (after which a wish of this kind is
--       forgotten)
-- -> ok; unknown
register('drain_worker', function(call)
  local name, kept_ms = call.worker, call.kept_ms
  if redis.call('HEXISTS', K.worker_registry, name) == 0 and redis.call('HEXISTS', K.draining, name) == 0 then
    return answer('unknown')
  end
  local wishes = redis.call('HGETALL', K.draining)
  for i = 1, #wishes, 2 do
    if tonumber(wishes[i + 1]) + kept_ms < now then redis.call('HDEL', K.draining, wishes[i]) end
  end
  if call.drains then
    redis.call('HSETNX', K.draining, name, text(now))
  else
    redis.call('HDEL', K.draining, name)
  end
  return answer('ok')
end)
