-- Counts everything again from the jobs that have not ended; changes nothing.
-- -> ok + name, expected, actual of each counter that differs
local ready = {cpu = 0, gpu = 0}
local lines = {} -- line key -> jobs that belong there
local admission = {} -- tenant -> {jobs, audio}
local flow = {interactive = 0, bulk = 0}
local total = {jobs = 0, audio = 0}
local leased, waiting = 0, 0
local drift = {}

local function expect(name, expected, actual)
  expected, actual = tonumber(expected) or 0, tonumber(actual) or 0
  if expected ~= actual then
    drift[#drift + 1] = name
    drift[#drift + 1] = text(expected)
    drift[#drift + 1] = text(actual)
  end
end

-- Only what is compared: load_job reads twice as much, and this runs over every unfinished job.
local function load_counts(id)
  local v = redis.call('HMGET', K.job .. id, 'state', 'tenant', 'class', 'phase', 'estimated_audio_ms', 'out_ms',
    'next', 'done', 'leased')
  if not v[1] then return nil end
  return {
    id = id, state = v[1], tenant = v[2], class = v[3], phase = v[4], estimated_audio_ms = tonumber(v[5]),
    out_ms = tonumber(v[6]) or 0, next = tonumber(v[7]) or 0, done = tonumber(v[8]) or 0, leased = tonumber(v[9]) or 0,
  }
end

local function count_lists(job)
  local listed = 0
  local family = job.state == 'paused' and K.parked or K.ready
  for _, lane in ipairs({'cpu', 'gpu'}) do
    local count = redis.call('LLEN', family .. lane .. ':' .. job.id)
    listed = listed + count
    if count > 0 and family == K.ready then
      ready[lane] = ready[lane] + count
      local line = line_key(job, lane)
      lines[line] = (lines[line] or 0) + 1
    end
  end
  return listed
end

local function count_live(job)
  local held, waits = 0, 0
  local live = redis.call('HVALS', K.live .. job.id)
  for _, value in ipairs(live) do
    if value == 'W' then waits = waits + 1 else held = held + 1 end
  end
  return held, waits
end

-- What must be in a list, under lease or waiting, for the job to go on by itself.
local function open_items(job)
  if job.state == 'cancelling' then return nil end
  if job.phase == 'synthesizing' then return job.next - job.done end
  return 1
end

for _, id in ipairs(redis.call('SMEMBERS', K.active)) do
  local job = load_counts(id)
  if not job or is_terminal(job) then
    expect('active:' .. id, 0, 1)
  else
    local listed = count_lists(job)
    local held, waits = count_live(job)
    expect('leased:' .. id, held, job.leased)
    local open = open_items(job)
    if open then expect('open:' .. id, open, listed + held + waits) end
    leased, waiting = leased + held, waiting + waits
    local mine = admission[job.tenant] or {jobs = 0, audio = 0}
    mine.jobs, mine.audio = mine.jobs + 1, mine.audio + job.estimated_audio_ms
    admission[job.tenant] = mine
    total.jobs, total.audio = total.jobs + 1, total.audio + job.estimated_audio_ms
    flow[job.class] = flow[job.class] + job.estimated_audio_ms - job.out_ms
  end
end

for lane, count in pairs(ready) do expect('ready:' .. lane, count, redis.call('HGET', K.counters, lane)) end
for line, count in pairs(lines) do expect(line, count, redis.call('LLEN', line)) end
expect('leases', leased, redis.call('ZCARD', K.leases))
expect('retries', waiting, redis.call('ZCARD', K.retries))
for tenant, mine in pairs(admission) do
  local held = redis.call('HMGET', K.admission .. tenant, 'jobs', 'audio_ms')
  expect('admission:' .. tenant .. ':jobs', mine.jobs, held[1])
  expect('admission:' .. tenant .. ':audio_ms', mine.audio, held[2])
end
local held = redis.call('HMGET', K.total, 'jobs', 'audio_ms')
expect('total:jobs', total.jobs, held[1])
expect('total:audio_ms', total.audio, held[2])
for class, expected in pairs(flow) do
  local seen = redis.call('HMGET', K.flow .. class, 'in', 'out')
  expect('flow:' .. class, expected, (tonumber(seen[1]) or 0) - (tonumber(seen[2]) or 0))
end
return answer('ok', unpack(drift))
