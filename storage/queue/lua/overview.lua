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

  -- How long the job at this percentile of waits has waited; nil if none waits. The longest wait stands first.
  local function wait_of(waiting, share)
    local jobs = redis.call('ZCARD', waiting)
    local at = jobs - math.ceil(share * jobs)
    local since = tonumber(redis.call('ZRANGE', waiting, at, at, 'WITHSCORES')[2])
    return since and math.max(0, now - since)
  end

  local function class_of(queue, class, tenants)
    local seen = redis.call('HMGET', K.flow, queue .. ':' .. class .. ':in', queue .. ':' .. class .. ':out')
    local ring, waiting = K.tenants .. queue .. ':' .. class, K.waiting .. queue .. ':' .. class
    for _, tenant in ipairs(redis.call('LRANGE', ring, 0, MOST_TENANTS - 1)) do tenants[tenant] = true end
    return {backlog_ms = number(seen[1]) - number(seen[2]), tenants = redis.call('LLEN', ring),
      jobs = redis.call('ZCARD', waiting), oldest_wait_ms = wait_of(waiting, 1),
      wait_p50_ms = wait_of(waiting, 0.5), wait_p95_ms = wait_of(waiting, 0.95)}
  end

  local names, queues, tenants = {}, {}, {}
  for queue in pairs(queue_names()) do table.insert(names, queue) end
  table.sort(names)
  for _, queue in ipairs(names) do
    table.insert(queues, {
      name = queue, ready_items = number(redis.call('HGET', K.counters, queue)), slots = worker_slots(queue),
      pace = throughput(queue), batch_pace = batch_throughput(queue),
      classes = {interactive = class_of(queue, 'interactive', tenants), bulk = class_of(queue, 'bulk', tenants)},
    })
  end
  local held = {}
  for tenant in pairs(tenants) do
    local row = redis.call('HMGET', K.admission .. tenant, 'jobs', 'audio_ms')
    held[tenant] = {jobs = number(row[1]), backlog_ms = number(row[2])}
  end
  return answer('ok', {overview = {
    queues = queues, tenants = held, leases = redis.call('ZCARD', K.leases),
    retries_waiting = redis.call('ZCARD', K.retries), unfinished_jobs = redis.call('SCARD', K.active),
    scheduled_jobs = redis.call('ZCARD', K.scheduled), dead_letters = redis.call('XLEN', K.dead),
    audited = redis.call('GET', K.audited) or nil, claims_held = redis.call('GET', K.held) or nil,
  }})
end)
