-- What waits where, for operators. Costs what is listed below, however many jobs there are.
-- -> ok + overview
register_reader('overview', function()
  local MOST_TENANTS = 1000 -- of each queue and class

  local function number(value) return tonumber(value) or 0 end

  local function queue_names()
    local names = {cpu = true}
    for _, queue in ipairs(redis.call('HKEYS', K.counters)) do names[queue] = true end
    for _, field in ipairs(redis.call('HKEYS', K.flow)) do names[string.match(field, '^(.*):%l+:%l+$')] = true end
    for _, field in ipairs(redis.call('HKEYS', K.throughput)) do names[string.match(field, '^(.*):[%l_]+$')] = true end
    return names
  end

  -- Since when the job at this percentile of waits has waited; nil if none waits. The longest wait stands first.
  local function since_of(waiting, share)
    local jobs = redis.call('ZCARD', waiting)
    local at = jobs - math.ceil(share * jobs)
    return tonumber(redis.call('ZRANGE', waiting, at, at, 'WITHSCORES')[2])
  end

  local function class_of(queue, class, tenants)
    local seen = redis.call('HMGET', K.flow, queue .. ':' .. class .. ':in', queue .. ':' .. class .. ':out')
    local ring, waiting = K.tenants .. queue .. ':' .. class, K.waiting .. queue .. ':' .. class
    for _, tenant in ipairs(redis.call('LRANGE', ring, 0, MOST_TENANTS - 1)) do tenants[tenant] = true end
    return {backlog_ms = number(seen[1]) - number(seen[2]), tenants = redis.call('LLEN', ring),
      jobs = redis.call('ZCARD', waiting), since = since_of(waiting, 1),
      since_p50 = since_of(waiting, 0.5), since_p95 = since_of(waiting, 0.95)}
  end

  local queues, tenants = {}, {}
  for queue in pairs(queue_names()) do
    queues[queue] = {
      ready = number(redis.call('HGET', K.counters, queue)), slots = worker_slots(queue), pace = throughput(queue),
      batch_pace = batch_throughput(queue),
      interactive = class_of(queue, 'interactive', tenants), bulk = class_of(queue, 'bulk', tenants),
    }
  end
  local held = {}
  for tenant in pairs(tenants) do
    local row = redis.call('HMGET', K.admission .. tenant, 'jobs', 'audio_ms')
    held[tenant] = {jobs = number(row[1]), audio_ms = number(row[2])}
  end
  return answer('ok', {overview = {
    now_ms = now, queues = queues, tenants = held, leases = redis.call('ZCARD', K.leases),
    retries = redis.call('ZCARD', K.retries), unfinished_jobs = redis.call('SCARD', K.active),
    scheduled = redis.call('ZCARD', K.scheduled), dead = redis.call('XLEN', K.dead), audited = redis.call('GET', K.audited) or '',
    claims_held = redis.call('GET', K.held) or '',
  }})
end)
