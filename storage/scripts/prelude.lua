-- What every script shares: the job as a table, the rings, the events and the ends of a job.
-- `K` (keys), `MOVES` (allowed state changes), `QUARANTINE` and `clock` are generated in front of this.

local now = clock()
local tickets = {cpu = 0, gpu = 0}

local QUANTUM_MS = 15000 -- audio a tenant may take in one turn
local MAX_COST_MS = 60000 -- bounds the turns a claim has to walk until an item is affordable
local CPU_COST_MS = 5000 -- plan and assemble: a few per turn
local EVENTS_KEPT = 500
local DRAIN_TAU_MS = 60000 -- time constant of the measured throughput

local TEXT = {'tenant', 'state', 'phase', 'class', 'plan_key'}
local NUMBERS = {
  'estimated_audio_ms', 'out_ms', 'cost_ms', 'total', 'next', 'done', 'failed', 'leased', 'retries',
  'chars_done', 'samples_done', 'sample_rate_hz', 'engine_ms', 'started_at_ms', 'deadline_ms', 'retention_s',
}
local FIELDS = {unpack(TEXT)}
for _, name in ipairs(NUMBERS) do FIELDS[#FIELDS + 1] = name end

-- Never of -x: a negated zero reads "-0", which Redis takes for no integer.
local function text(number) return string.format('%.0f', number) end

-- Every answer starts with a status and the number of items made ready by lane.
local function answer(status, ...)
  return {status, tickets.cpu, tickets.gpu, ...}
end

local function load_job(id)
  local values = redis.call('HMGET', K.job .. id, unpack(FIELDS))
  if not values[1] then return nil end
  local job = {id = id}
  for i, name in ipairs(FIELDS) do
    if i <= #TEXT then job[name] = values[i] else job[name] = tonumber(values[i]) or 0 end
  end
  return job
end

local function save(job, changes)
  local flat = {}
  for name, value in pairs(changes) do
    job[name] = value
    flat[#flat + 1] = name
    flat[#flat + 1] = type(value) == 'number' and text(value) or value
  end
  redis.call('HSET', K.job .. job.id, unpack(flat))
  redis.call('HINCRBY', K.job .. job.id, 'version', 1)
end

local function is_terminal(job) return next(MOVES[job.state]) == nil end

local function move(job, state)
  if not MOVES[job.state][state] then
    error('job ' .. job.id .. ' cannot move from ' .. job.state .. ' to ' .. state)
  end
  save(job, {state = state})
end

-- `more` holds what only this type of event says, as flat JSON.
local function event(job, kind, more)
  local audio_ms = 0
  if job.sample_rate_hz > 0 then audio_ms = math.floor(job.samples_done * 1000 / job.sample_rate_hz) end
  redis.call('XADD', K.events .. job.id, 'MAXLEN', '~', EVENTS_KEPT, '*',
    'type', kind, 'at_ms', text(now), 'state', job.state, 'phase', job.phase or '',
    'segments_total', text(job.total), 'segments_done', text(job.done), 'chars_done', text(job.chars_done),
    'audio_ms_done', text(audio_ms), 'more', more and cjson.encode(more) or '')
end

-- Rings. A job is in the line of (lane, class, tenant) exactly while its ready list there has items;
-- a tenant is in the ring of (lane, class) exactly while that line has jobs.

local function lane_of(item)
  if item == 'plan' or item == 'assemble' then return 'cpu' end
  return 'gpu'
end

local function ring_key(job, lane) return K.tenants .. lane .. ':' .. job.class end
local function line_key(job, lane) return K.line .. lane .. ':' .. job.class .. ':' .. job.tenant end
local function deficit_key(job, lane) return K.deficit .. lane .. ':' .. job.class end

local function enter_ring(job, lane)
  if redis.call('RPUSH', line_key(job, lane), job.id) == 1 then
    redis.call('RPUSH', ring_key(job, lane), job.tenant)
    redis.call('HSET', deficit_key(job, lane), job.tenant, QUANTUM_MS)
  end
end

local function leave_ring(job, lane)
  redis.call('LREM', line_key(job, lane), 1, job.id)
  if redis.call('EXISTS', line_key(job, lane)) == 0 then
    redis.call('LREM', ring_key(job, lane), 1, job.tenant)
    redis.call('HDEL', deficit_key(job, lane), job.tenant)
  end
end

-- push is 'LPUSH' (before everything that waits) or 'RPUSH'.
local function make_ready(job, item, push)
  local lane = lane_of(item)
  if job.state == 'paused' then
    redis.call(push, K.parked .. lane .. ':' .. job.id, item)
    return
  end
  if redis.call(push, K.ready .. lane .. ':' .. job.id, item) == 1 then enter_ring(job, lane) end
  redis.call('HINCRBY', K.counters, lane, 1)
  tickets[lane] = tickets[lane] + 1
end

-- Takes the job's claimable items out of the lane; returns how many there were.
local function close_lane(job, lane)
  local count = redis.call('LLEN', K.ready .. lane .. ':' .. job.id)
  if count > 0 then
    redis.call('HINCRBY', K.counters, lane, -count)
    leave_ring(job, lane)
  end
  return count
end

local function drop_unleased(job)
  for _, lane in ipairs({'cpu', 'gpu'}) do
    close_lane(job, lane)
    redis.call('DEL', K.ready .. lane .. ':' .. job.id, K.parked .. lane .. ':' .. job.id)
  end
  local live = redis.call('HGETALL', K.live .. job.id)
  for i = 1, #live, 2 do
    if live[i + 1] == 'W' then
      redis.call('ZREM', K.retries, job.id .. '|' .. live[i])
      redis.call('HDEL', K.live .. job.id, live[i])
    end
  end
end

-- Leases. live[item] = L<fence>|<worker name>, mirrored in K.leases (expiry) and K.worker (incarnation).

local function lease_name(job_id, item, fence) return job_id .. '|' .. item .. '|' .. fence end

local function read_lease(job_id, item)
  local value = redis.call('HGET', K.live .. job_id, item)
  if not value then return nil end
  return string.match(value, '^L(%d+)|(.*)$')
end

local function forget_lease(job, item, fence, worker)
  local name = lease_name(job.id, item, fence)
  redis.call('ZREM', K.leases, name)
  redis.call('HDEL', K.worker .. worker, name)
  redis.call('HDEL', K.live .. job.id, item)
  save(job, {leased = job.leased - 1})
end

-- Ends.

local function give_back_admission(job)
  local tenant = K.admission .. job.tenant
  if redis.call('HINCRBY', tenant, 'jobs', -1) == 0 then
    redis.call('DEL', tenant)
  else
    redis.call('HINCRBY', tenant, 'audio_ms', text(0 - job.estimated_audio_ms))
  end
  redis.call('HINCRBY', K.total, 'jobs', -1)
  redis.call('HINCRBY', K.total, 'audio_ms', text(0 - job.estimated_audio_ms))
  redis.call('HINCRBY', K.flow .. job.class, 'out', text(job.estimated_audio_ms - job.out_ms))
end

local function finish_job(job, state, failure)
  drop_unleased(job)
  local live = redis.call('HGETALL', K.live .. job.id)
  for i = 1, #live, 2 do
    local fence, worker = string.match(live[i + 1], '^L(%d+)|(.*)$')
    forget_lease(job, live[i], fence, worker)
  end
  give_back_admission(job)
  redis.call('SREM', K.active, job.id)
  redis.call('ZREM', K.deadlines, job.id)
  local expires = now + job.retention_s * 1000
  redis.call('ZADD', K.retention, text(expires), job.tenant .. '|' .. job.id)
  move(job, state)
  local changes = {finished_at_ms = now, expires_at_ms = expires}
  if failure then changes.error = cjson.encode(failure) end
  save(job, changes)
  event(job, 'job.' .. state, failure)
end

local function expire_job(job)
  local failure = {code = 'deadline_exceeded', detail = 'the deadline passed before the job was done'}
  finish_job(job, job.started_at_ms > 0 and 'failed' or 'expired', failure)
end

local function is_overdue(job) return job.deadline_ms > 0 and job.deadline_ms <= now end

local function settle_cancellation(job)
  if job.state == 'cancelling' and job.leased == 0 then
    finish_job(job, 'cancelled', {code = 'cancelled_by_user', detail = 'the job was cancelled'})
  end
end

-- Finds the job whose lease a worker speaks of: 'held', 'lost' or 'aborted', and the worker's name.
-- A lease of a cancelled job is taken away here, since its holder has just been told.
local function resolve(job_id, item, fence)
  local job = load_job(job_id)
  if not job or is_terminal(job) then return job, 'aborted' end
  local current, worker = read_lease(job_id, item)
  local is_current = current == fence
  if job.state == 'cancelling' then
    if is_current then
      forget_lease(job, item, fence, worker)
      settle_cancellation(job)
    end
    return job, 'aborted'
  end
  if not is_current then return job, 'lost' end
  return job, 'held', worker
end

-- A repeated call whose first answer may have been lost is told what is ready now, as a hint for tickets.
local function answer_again(job_id)
  tickets.cpu = redis.call('LLEN', K.ready .. 'cpu:' .. job_id)
  tickets.gpu = redis.call('LLEN', K.ready .. 'gpu:' .. job_id)
  return answer('ok')
end

-- Tries. tries[item] = attempts:suspicions:fence, for items that went back at least once.

local function read_tries(job_id, item)
  local value = redis.call('HGET', K.tries .. job_id, item)
  if not value then return 0, 0, '' end
  local attempts, suspicions, fence = string.match(value, '^(%d+):(%d+):(%d*)$')
  return tonumber(attempts), tonumber(suspicions), fence
end

local function write_tries(job_id, item, attempts, suspicions, fence)
  redis.call('HSET', K.tries .. job_id, item, attempts .. ':' .. suspicions .. ':' .. fence)
end

-- The item is given up, and the job with it. failure.code and failure.detail are set.
local function fail_item(job, item, fence, failure)
  redis.call('HSET', K.results .. job.id, item, 'X' .. fence)
  if lane_of(item) == 'gpu' then
    failure.segment = tonumber(item)
    save(job, {failed = job.failed + 1})
    event(job, 'job.segment.failed', failure)
  end
  finish_job(job, 'failed', failure)
end

-- The item goes back without a result. reason is 'shutdown' or one that counts as a suspicion; attempts are
-- charged only to an item that ran alone, because whoever shares a batch with poison is innocent.
local function release_item(job_id, item, fence, reason, max_attempts)
  local job, verdict, worker = resolve(job_id, item, fence)
  if verdict ~= 'held' then return end
  forget_lease(job, item, fence, worker)
  if reason == 'shutdown' then
    make_ready(job, item, 'LPUSH')
    return
  end
  local attempts, suspicions, last = read_tries(job_id, item)
  if suspicions >= QUARANTINE then attempts = attempts + 1 end
  write_tries(job_id, item, attempts, suspicions + 1, last)
  if attempts >= max_attempts then
    local detail = 'the worker was lost ' .. (suspicions + 1) .. ' times at this item, last: ' .. reason
    fail_item(job, item, fence, {code = 'worker_lost', detail = detail})
    return
  end
  save(job, {retries = job.retries + 1})
  make_ready(job, item, 'LPUSH')
end
