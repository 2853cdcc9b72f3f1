-- What falls due by itself, and what is settled after a job's end.

-- call: limit (of each kind), max_attempts
-- -> ok + leases (that expired), retries (due), jobs (overdue), woken (whose time has come)
register('reap', function(call)
  local limit, max_attempts = call.limit, call.max_attempts

  local function due(key)
    return redis.call('ZRANGEBYSCORE', key, '-inf', text(now), 'LIMIT', 0, limit)
  end

  -- Every entry met is gone afterwards, also one whose job has vanished: nothing may block the ones after it.

  local overdue = due(K.deadlines)
  for _, id in ipairs(overdue) do
    local job = load_job(id)
    if job then expire_job(job) else redis.call('ZREM', K.deadlines, id) end
  end

  local leases = due(K.leases)
  for _, name in ipairs(leases) do
    local id, item, fence = string.match(name, '^([^|]*)|([^|]*)|(%d+)$')
    release_item(id, item, fence, 'lease_expired', max_attempts)
    redis.call('ZREM', K.leases, name)
  end

  local retries = due(K.retries)
  for _, name in ipairs(retries) do
    local id, item = string.match(name, '^([^|]*)|([^|]*)$')
    local job = load_job(id)
    if job then
      forget_retry(job, item)
      make_ready(job, item, 'LPUSH')
    else
      redis.call('ZREM', K.retries, name)
    end
  end

  local awake = due(K.scheduled)
  for _, id in ipairs(awake) do
    local job = load_job(id)
    if job and is_scheduled(job) then release_scheduled(job) else redis.call('ZREM', K.scheduled, id) end
  end
  return answer('ok', {leases = #leases, retries = #retries, jobs = #overdue, woken = #awake})
end)

-- call: batch (a cancelled one), limit (how many of its jobs)
-- -> ok + has_more
-- The next of them are cancelled, in the order of their ids. None came since the batch was: `submit` refuses them.
register('recall', function(call)
  local id, most = call.batch, call.limit
  local after = redis.call('HGET', K.recalled, id)
  if not after then return answer('ok', {has_more = false}) end

  local first = after == '' and '-' or '(' .. after
  local children = redis.call('ZRANGEBYLEX', K.children .. id, first, '+', 'LIMIT', 0, most)
  for _, child in ipairs(children) do
    local job = load_job(child)
    if job and not is_terminal(job) and job.state ~= 'cancelling' then cancel_job(job) end
  end
  if #children == most then
    redis.call('HSET', K.recalled, id, children[#children])
    return answer('ok', {has_more = true})
  end
  redis.call('HDEL', K.recalled, id)
  local batch = load_job(id)
  if batch then settle_cancellation(batch) end
  return answer('ok', {has_more = false})
end)

-- call: limit
-- -> ok + entries: tenant|job whose retention is over, oldest first
register_reader('retentions', function(call)
  return answer('ok', {entries = redis.call('ZRANGEBYSCORE', K.retention, '-inf', text(now), 'LIMIT', 0, call.limit)})
end)
