-- call: epoch (of this audit), cursor ('' to begin), limit (jobs to look at), mends (whether counters that differ get
--       what was counted)
-- -> ok + cursor (the next; '0' when all is done), drift (name, expected, actual of what differs); overtaken
--
-- Counts a few of the jobs that have not ended, and at the end compares every counter with what was counted. In between
-- jobs change: one that was counted already carries the epoch, and `tally` follows it; one that was not is met later.
-- K.audit holds the sums, by the names that `tally` uses.
register('counter_audit', function(call)
  local epoch, cursor, limit, mends = call.epoch, call.cursor, call.limit, call.mends
  local ABANDONED_S = 600
  local drift = {}

  local function expect(name, expected, actual)
    expected, actual = tonumber(expected) or 0, tonumber(actual) or 0
    if expected ~= actual then
      drift[#drift + 1] = {name = name, expected = expected, actual = actual}
    end
  end

  -- What has a counter must be counted even if no job contributes.
  local function begin()
    redis.call('DEL', K.audit)
    redis.call('HSET', K.audit, 'epoch', epoch, 'leases:', 0, 'retries:', 0, 'scheduled:', 0, 'jobs:total', 0, 'audio_ms:total', 0)
    for _, queue in ipairs(redis.call('HKEYS', K.counters)) do redis.call('HSET', K.audit, 'ready:' .. queue, 0) end
    for _, field in ipairs(redis.call('HKEYS', K.flow)) do
      redis.call('HSET', K.audit, 'flow:' .. string.match(field, '^(.*):%l+$'), 0)
    end
  end

  -- Added up here and written once a call: most jobs of a call share their queue and many their tenant.
  local sums = {}

  local function add(name, number) sums[name] = (sums[name] or 0) + number end

  local function write_sums()
    for name, number in pairs(sums) do redis.call('HINCRBY', K.audit, name, text(number)) end
  end

  -- Only what is counted: load_job reads twice as much.
  local function load_counts(id)
    local v = redis.call('HMGET', K.job .. id, 'state', 'tenant', 'class', 'queue', 'audit', 'phase', 'estimated_audio_ms',
      'out_ms', 'next', 'done', 'leased', 'failed', 'credit_ms', 'scheduled')
    if not v[1] then return nil end
    return {
      id = id, state = v[1], tenant = v[2], class = v[3], queue = v[4], audit = v[5], phase = v[6],
      estimated_audio_ms = tonumber(v[7]), out_ms = tonumber(v[8]) or 0, next = tonumber(v[9]) or 0,
      done = tonumber(v[10]) or 0, leased = tonumber(v[11]) or 0, failed = tonumber(v[12]) or 0,
      credit_ms = tonumber(v[13]) or 0, scheduled = tonumber(v[14]) or 0,
    }
  end

  local function count_lists(job)
    local key_of = job.state == 'paused' and parked_key or ready_key
    local listed = 0
    for _, queue in ipairs(queues_of(job)) do
      local count = redis.call('LLEN', key_of(job, queue))
      listed = listed + count
      if count > 0 and job.state ~= 'paused' then
        add('ready:' .. queue, count)
        add('line:' .. line_key(job, queue), 1)
      end
    end
    return listed
  end

  local function count_live(job)
    local held, waits, sleeps = 0, 0, 0
    for _, value in ipairs(redis.call('HVALS', K.live .. job.id)) do
      if value == 'W' then waits = waits + 1 elseif value == 'S' then sleeps = sleeps + 1 else held = held + 1 end
    end
    add('leases:', held)
    add('retries:', waits)
    add('scheduled:', sleeps)
    return held, waits + sleeps
  end

  -- What must be in a list, under lease or waiting, for the job to go on by itself.
  local function open_items(job)
    if job.state == 'cancelling' then return nil end
    if job.phase == 'synthesizing' then return job.next - job.done - job.failed end
    return 1
  end

  local function count_job(id)
    local job = load_counts(id)
    if not job or is_terminal(job) then
      expect('active:' .. id, 0, 1)
      return
    end
    if job.audit == epoch then return end
    redis.call('HSET', K.job .. id, 'audit', epoch)
    local listed = count_lists(job)
    local held, waits = count_live(job)
    expect('leased:' .. id, held, job.leased)
    local open = open_items(job)
    if open then expect('open:' .. id, open, listed + held + waits) end
    for _, scope in ipairs({'tenant:' .. job.tenant, 'total'}) do
      add('jobs:' .. scope, 1)
      add('audio_ms:' .. scope, job.estimated_audio_ms - job.credit_ms)
    end
    add('flow:' .. job.queue .. ':' .. job.class, audio_in_flow(job))
  end

  -- kind -> the counter's value
  local ACTUAL = {
    ready = function(queue) return redis.call('HGET', K.counters, queue) end,
    line = function(key) return redis.call('LLEN', key) end,
    leases = function() return redis.call('ZCARD', K.leases) end,
    retries = function() return redis.call('ZCARD', K.retries) end,
    scheduled = function() return redis.call('ZCARD', K.scheduled) end,
    flow = function(name)
      local seen = redis.call('HMGET', K.flow, name .. ':in', name .. ':out')
      return (tonumber(seen[1]) or 0) - (tonumber(seen[2]) or 0)
    end,
  }
  for _, field in ipairs({'jobs', 'audio_ms'}) do
    ACTUAL[field] = function(scope)
      local tenant = string.match(scope, '^tenant:(.*)$')
      return redis.call('HGET', tenant and K.admission .. tenant or K.total, field)
    end
  end

  -- kind -> adds to the counter. Lists and sets are no counters: what they lack cannot be made up here.
  local MEND = {
    ready = function(queue, change)
      if redis.call('HINCRBY', K.counters, queue, change) == 0 then redis.call('HDEL', K.counters, queue) end
    end,
    flow = function(name, change) redis.call('HINCRBY', K.flow, name .. ':in', change) end,
  }
  for _, field in ipairs({'jobs', 'audio_ms'}) do
    MEND[field] = function(scope, change)
      local tenant = string.match(scope, '^tenant:(.*)$')
      redis.call('HINCRBY', tenant and K.admission .. tenant or K.total, field, change)
    end
  end

  local function compare()
    local sums = redis.call('HGETALL', K.audit)
    for i = 1, #sums, 2 do
      local kind, rest = string.match(sums[i], '^(%l[%l_]*):(.*)$')
      if kind then
        local counted, known = tonumber(sums[i + 1]) or 0, tonumber(ACTUAL[kind](rest)) or 0
        expect(sums[i], counted, known)
        if mends and counted ~= known and MEND[kind] then MEND[kind](rest, text(counted - known)) end
      end
    end
    redis.call('DEL', K.audit)
  end

  if cursor == '' then
    if current_audit() ~= epoch then begin() end
    audit_epoch = epoch
    cursor = '0'
  end
  if current_audit() ~= epoch then return answer('overtaken') end
  local page = redis.call('SSCAN', K.active, cursor, 'COUNT', limit)
  for _, id in ipairs(page[2]) do count_job(id) end
  write_sums()
  redis.call('EXPIRE', K.audit, ABANDONED_S)
  if page[1] == '0' then compare() end
  return answer('ok', {cursor = page[1], drift = drift})
end)
