-- What every script shares: the job as a table, the rings, the events and the ends of a job.
-- `K` (keys), `MOVES` (allowed state changes), `QUARANTINE`, `USAGE_KEPT_S` and `clock` are generated in front of this.

local now = clock()
local tickets = {} -- queue -> items made ready

local QUANTUM_MS = 15000 -- audio a tenant may take in one turn
local MAX_COST_MS = 60000 -- bounds the turns a claim has to walk until an item is affordable
local CPU_COST_MS = 5000 -- plan and assemble: a few per turn
local EVENTS_KEPT = 500
local DEAD_KEPT = 10000
local WARNINGS_KEPT = 100
local MOST_OPENED = 256 -- segments one call makes ready, which bounds its time
local MOST_WINDOW = 4096 -- open segments of a job, whatever the fleet
local DRAIN_TAU_MS = 60000 -- time constant of the measured throughput, in time with work

local TEXT = {
  'tenant', 'state', 'phase', 'class', 'plan_key', 'queue', 'audit', 'kind', 'webhook', 'batch', 'key_id', 'bulky',
}
local NUMBERS = {
  'estimated_audio_ms', 'out_ms', 'cost_ms', 'total', 'next', 'done', 'failed', 'leased', 'retries',
  'chars_done', 'samples_done', 'sample_rate_hz', 'engine_ms', 'started_at_ms', 'deadline_ms', 'retention_s', 'run',
  'credit_ms', 'scheduled',
}

local function all_fields()
  local names = {unpack(TEXT)}
  for _, name in ipairs(NUMBERS) do names[#names + 1] = name end
  return names
end

local FIELDS = all_fields()

-- Never of -x: a negated zero reads "-0", which Redis takes for no integer.
local function text(number) return string.format('%.0f', number) end

-- Every answer starts with a status and the number of items made ready by queue: {queue, number, ...}.
local function answer(status, ...)
  if webhooks.made > 0 then tickets.hooks = webhooks.made end
  local ready = {}
  for queue, count in pairs(tickets) do
    ready[#ready + 1] = queue
    ready[#ready + 1] = count
  end
  return {status, ready, ...}
end

local function add_tickets(queue, count)
  if count > 0 then tickets[queue] = (tickets[queue] or 0) + count end
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

local function is_terminal(job) return TERMINAL[job.state] == true end

local function move(job, state)
  if not MOVES[job.state][state] then
    error('job ' .. job.id .. ' cannot move from ' .. job.state .. ' to ' .. state)
  end
  save(job, {state = state})
end

-- The event's deliveries. Their ids follow from how often the job has told of its like, not from a clock: should the
-- same end be reached again from an old copy of the database, receivers see the same ids.
local function enqueue_webhook(job, kind, audio_ms, more)
  if not HOOK.JOB_EVENTS[kind] or (job.kind == 'batch') ~= (kind == 'batch.completed') then return end
  local function subject()
    return job.id .. '|' .. redis.call('HINCRBY', K.job .. job.id, 'told:' .. kind, 1)
  end
  webhooks.enqueue_webhook(job.tenant, kind, job.id, job.webhook, subject, function()
    local facts = {job = job.id, kind = job.kind or 'synthesis', state = job.state, phase = job.phase or nil,
      at_ms = now, segments_total = job.total, segments_done = job.done, segments_failed = job.failed,
      chars_done = job.chars_done, audio_ms_done = audio_ms, more = more and cjson.encode(more) or nil}
    local names = {'version', 'created_at_ms', 'started_at_ms', 'finished_at_ms', 'metadata', 'artifacts', 'error',
      'lines', 'flagged', 'warnings', 'ended_succeeded', 'ended_failed', 'ended_cancelled', 'ended_expired', 'trace'}
    for i, value in ipairs(redis.call('HMGET', K.job .. job.id, unpack(names))) do facts[names[i]] = value or nil end
    return facts
  end)
end

-- `more` holds what only this type of event says, as flat JSON.
local function event(job, kind, more)
  local audio_ms = 0
  if job.sample_rate_hz > 0 then audio_ms = math.floor(job.samples_done * 1000 / job.sample_rate_hz) end
  redis.call('XADD', K.events .. job.id, 'MAXLEN', '~', EVENTS_KEPT, '*',
    'type', kind, 'at_ms', text(now), 'state', job.state, 'phase', job.phase or '',
    'segments_total', text(job.total), 'segments_done', text(job.done), 'chars_done', text(job.chars_done),
    'audio_ms_done', text(audio_ms), 'more', more and cjson.encode(more) or '')
  enqueue_webhook(job, kind, audio_ms, more)
end

-- Warnings. The record holds the first so many as JSON, and no field while there are none.

local function read_warnings(job)
  local known = redis.call('HGET', K.job .. job.id, 'warnings')
  return known and cjson.decode(known) or {}
end

local function write_warnings(job, warnings)
  if #warnings > 0 then save(job, {warnings = cjson.encode(warnings)})
  else redis.call('HDEL', K.job .. job.id, 'warnings') end
end

-- `warning` has code and detail, and segment (a number) if it is about one.
local function warn(job, warning)
  local warnings = read_warnings(job)
  if #warnings >= WARNINGS_KEPT then return end
  warnings[#warnings + 1] = warning
  write_warnings(job, warnings)
end

local function forget_warnings(job, segment)
  local kept = {}
  for _, warning in ipairs(read_warnings(job)) do
    if warning.segment ~= segment then kept[#kept + 1] = warning end
  end
  write_warnings(job, kept)
end

local function forget_warnings_of(job, code)
  local known = read_warnings(job)
  local kept = {}
  for _, warning in ipairs(known) do
    if warning.code ~= code then kept[#kept + 1] = warning end
  end
  if #kept < #known then write_warnings(job, kept) end
end

-- Counters. Each is the sum of what every unfinished job contributes, and changes only here: an audit that has
-- looked at a job already (its `audit` is the audit's epoch) follows what happens to the job from then on.

local audit_epoch

local function current_audit()
  if audit_epoch == nil then audit_epoch = redis.call('HGET', K.audit, 'epoch') end
  return audit_epoch
end

local function tally(job, name, change)
  if job.audit and job.audit == current_audit() then redis.call('HINCRBY', K.audit, name, text(change)) end
end

local function count_ready(job, queue, change)
  if redis.call('HINCRBY', K.counters, queue, text(change)) == 0 then redis.call('HDEL', K.counters, queue) end
  tally(job, 'ready:' .. queue, change)
end

local function count_flow(job, direction, change)
  tally(job, 'flow:' .. job.queue .. ':' .. job.class, direction == 'in' and change or 0 - change)
  return redis.call('HINCRBY', K.flow, job.queue .. ':' .. job.class .. ':' .. direction, text(change))
end

local EVERYBODY = '*' -- no tenant's name
local ENDS_TAU_MS = 60000 -- time constant of the measured pace of ends, in time with work
local ENDS_KEPT_S = 600

-- The pace at which jobs end: what they gave back by the time that took, both fading. Time without any job does not
-- count: it begins anew with the first.
local function count_end(scope, held_key, audio_ms)
  local key = K.ends .. scope
  local jobs, audio, spent, at = unpack(redis.call('HMGET', key, 'jobs', 'audio_ms', 'spent_ms', 'at_ms'))
  local passed = math.max(0, now - (tonumber(at) or now))
  -- Until the first end, all that began together have come as far: the others follow at once, not after as long again.
  if not jobs then passed = passed / ((tonumber(redis.call('HGET', held_key, 'jobs')) or 0) + 1) end
  local kept = math.exp(0 - passed / ENDS_TAU_MS)
  redis.call('HSET', key, 'at_ms', text(now), 'jobs', string.format('%.6f', (jobs or 0) * kept + 1),
    'audio_ms', string.format('%.3f', (audio or 0) * kept + audio_ms),
    'spent_ms', string.format('%.3f', (spent or 0) * kept + passed))
  redis.call('EXPIRE', key, ENDS_KEPT_S)
end

local function begin_ends(scope)
  redis.call('HSET', K.ends .. scope, 'at_ms', text(now))
  redis.call('EXPIRE', K.ends .. scope, ENDS_KEPT_S)
end

local function count_admission(job, jobs, audio_ms)
  for scope, key in pairs({[job.tenant] = K.admission .. job.tenant, [EVERYBODY] = K.total}) do
    local held = redis.call('HINCRBY', key, 'jobs', text(jobs))
    redis.call('HINCRBY', key, 'audio_ms', text(audio_ms))
    if jobs > 0 and held == jobs then begin_ends(scope) end
  end
  for _, scope in ipairs({'tenant:' .. job.tenant, 'total'}) do
    tally(job, 'jobs:' .. scope, jobs)
    tally(job, 'audio_ms:' .. scope, audio_ms)
  end
end

-- Bytes of the job's objects, which go when its record does.
local function count_stored(job, bytes)
  if bytes == 0 then return end
  redis.call('HINCRBY', K.job .. job.id, 'stored_bytes', text(bytes))
  add_stored(job.tenant, 'jobs', job.id, bytes)
end

-- Usage: what was made, by the day (UTC) of its commit and the key that its job was submitted with. A commit is counted
-- in the script that makes it one, so neither a lost worker nor a repeated call counts twice.

local DAY_MS = 86400000

-- counts: name -> number
local function count_usage(job, counts)
  local day = K.usage .. job.tenant .. ':' .. text(math.floor(now / DAY_MS))
  for name, number in pairs(counts) do
    if number > 0 then redis.call('HINCRBY', day, (job.key_id or '') .. ':' .. name, text(number)) end
  end
  if redis.call('TTL', day) == -1 then redis.call('EXPIRE', day, USAGE_KEPT_S) end
end

-- `artifacts` (JSON) take the place of those that an earlier run made. Objects of earlier ones that are not among them
-- are deleted behind this. Returns those that were not there before.
local function replace_artifacts(job, artifacts)
  local bytes, known, created = 0, {}, {}
  local earlier = redis.call('HGET', K.job .. job.id, 'artifacts')
  for _, each in ipairs(earlier and cjson.decode(earlier) or {}) do
    bytes = bytes - each.bytes
    known[each.key] = true
  end
  for _, each in ipairs(cjson.decode(artifacts)) do
    bytes = bytes + each.bytes
    if not known[each.key] then created[#created + 1] = each end
  end
  count_stored(job, bytes)
  save(job, {artifacts = artifacts})
  return created
end

-- Queues and rings. A job is in the line of (queue, class, tenant) exactly while its ready list there has items;
-- a tenant is in the ring of (queue, class) exactly while that line has jobs.

local function is_segment(item) return string.match(item, '^%d+$') ~= nil end

local function queue_of(job, item)
  if item == 'plan' or item == 'assemble' then return 'cpu' end
  return job.queue
end

local function queues_of(job)
  if job.queue == 'cpu' then return {'cpu'} end
  return {'cpu', job.queue}
end

local function ready_key(job, queue) return K.ready .. queue .. ':' .. job.id end
local function parked_key(job, queue) return K.parked .. queue .. ':' .. job.id end
local function ring_key(job, queue) return K.tenants .. queue .. ':' .. job.class end
local function waiting_key(job, queue) return K.waiting .. queue .. ':' .. job.class end
local function line_key(job, queue) return K.line .. queue .. ':' .. job.class .. ':' .. job.tenant end
local function deficit_key(job, queue) return K.deficit .. queue .. ':' .. job.class end
local function newcomers_key(job, queue) return K.newcomers .. queue .. ':' .. job.class end

-- What an item takes of its tenant's turn; cost_ms is expected audio of a segment.
local function item_cost(queue, cost_ms)
  if queue == 'cpu' then return CPU_COST_MS end
  return math.min(math.max(cost_ms, 1), MAX_COST_MS)
end

-- Who comes anew has a turn before those who wait, behind others that came anew, so that what is short need not wait for
-- everybody. That turn is ahead of time: the next such one is after everybody there has had one, so that leaving and
-- coming back gains nothing. Those who have it are the front of the ring, in the order in which they came.
local function activate_tenant(job, queue)
  local ring, newcomers = ring_key(job, queue), newcomers_key(job, queue)
  local is_new = redis.call('ZADD', newcomers, 'NX', '+inf', job.tenant) == 1
  local first_to_wait = is_new and redis.call('LINDEX', ring, redis.call('ZCOUNT', newcomers, '+inf', '+inf') - 1)
  if first_to_wait then
    redis.call('LINSERT', ring, 'BEFORE', first_to_wait, job.tenant)
  else
    redis.call('RPUSH', ring, job.tenant)
  end
  redis.call('HSET', deficit_key(job, queue), job.tenant, QUANTUM_MS)
end

-- Of the tenant in front. Only turns that had been waited for bring the others nearer to being new again.
local function end_turn(job, queue)
  local newcomers = newcomers_key(job, queue)
  if redis.call('ZSCORE', newcomers, job.tenant) == 'inf' then
    redis.call('ZREM', newcomers, job.tenant)
  else
    local turns = redis.call('HINCRBY', K.turns, queue .. ':' .. job.class, 1)
    redis.call('ZREMRANGEBYSCORE', newcomers, '-inf', turns)
  end
end

local function deactivate_tenant(job, queue)
  local ring, newcomers = ring_key(job, queue), newcomers_key(job, queue)
  local is_new = redis.call('ZSCORE', newcomers, job.tenant) == 'inf'
  if is_new or redis.call('LINDEX', ring, 0) == job.tenant then end_turn(job, queue) end
  redis.call('LREM', ring, 1, job.tenant)
  redis.call('HDEL', deficit_key(job, queue), job.tenant)
  local others = redis.call('LLEN', ring)
  if others == 0 then
    redis.call('DEL', newcomers)
  else
    local turns = tonumber(redis.call('HGET', K.turns, queue .. ':' .. job.class)) or 0
    redis.call('ZADD', newcomers, text(turns + others), job.tenant)
  end
end

local function enter_round_robin(job, queue)
  local line = line_key(job, queue)
  if redis.call('RPUSH', line, job.id) == 1 then activate_tenant(job, queue) end
  redis.call('ZADD', waiting_key(job, queue), text(now), job.id)
  tally(job, 'line:' .. line, 1)
end

local function leave_ring(job, queue)
  local line = line_key(job, queue)
  redis.call('LREM', line, 1, job.id)
  redis.call('ZREM', waiting_key(job, queue), job.id)
  if redis.call('EXISTS', line) == 0 then deactivate_tenant(job, queue) end
  tally(job, 'line:' .. line, -1)
end

-- Nothing goes before the first segment of a job: what comes back to the front stands behind it. Returns the length.
local function put_in_line(key, items, push)
  local opens = push == 'LPUSH' and redis.call('LINDEX', key, 0) == '0'
  if opens then redis.call('LPOP', key) end
  local length = redis.call(push, key, unpack(items))
  return opens and redis.call('LPUSH', key, '0') or length
end

-- All items are of one queue. push is 'LPUSH' (before all but the first segment) or 'RPUSH'.
local function make_all_ready(job, items, push)
  local queue = queue_of(job, items[1])
  if job.state == 'paused' then
    put_in_line(parked_key(job, queue), items, push)
    return
  end
  if put_in_line(ready_key(job, queue), items, push) == #items then enter_round_robin(job, queue) end
  count_ready(job, queue, #items)
  add_tickets(queue, #items)
end

local function make_ready(job, item, push) make_all_ready(job, {item}, push) end

-- Takes the job's claimable items out of the queue; returns how many there were.
local function close_queue(job, queue)
  local count = redis.call('LLEN', ready_key(job, queue))
  if count > 0 then
    count_ready(job, queue, 0 - count)
    leave_ring(job, queue)
  end
  return count
end

local function forget_retry(job, item)
  redis.call('ZREM', K.retries, job.id .. '|' .. item)
  redis.call('ZREM', K.voice_slot_waiters .. job.queue, job.id .. '|' .. item)
  if item == 'plan' then redis.call('ZREM', K.unread .. job.tenant, job.id) end
  redis.call('HDEL', K.live .. job.id, item)
  tally(job, 'retries:', -1)
end

-- Sleep. A job that may not start before a time waits for it in K.scheduled, with its plan in live as S. Its expected
-- audio is admitted but in no flow until then: nobody's wait depends on it, and no worker is wanted for it.

local function schedule(job, until_ms)
  redis.call('HSET', K.live .. job.id, 'plan', 'S')
  redis.call('ZADD', K.scheduled, text(until_ms), job.id)
  tally(job, 'scheduled:', 1)
  save(job, {scheduled = 1})
end

local function unschedule(job)
  redis.call('ZREM', K.scheduled, job.id)
  redis.call('HDEL', K.live .. job.id, 'plan')
  tally(job, 'scheduled:', -1)
  save(job, {scheduled = 0})
end

-- Behind all that wait, with its plan to make.
local function join_queue(job)
  local before = count_flow(job, 'in', job.estimated_audio_ms) - job.estimated_audio_ms
  redis.call('HSET', K.job .. job.id, 'queue_mark_ms', text(before))
  make_ready(job, 'plan', 'RPUSH')
end

local function release_scheduled(job)
  unschedule(job)
  join_queue(job)
end

local function is_scheduled(job) return job.scheduled > 0 end

-- What of the job's expected audio came into a flow and has not gone out.
local function audio_in_flow(job) return is_scheduled(job) and 0 or job.estimated_audio_ms - job.out_ms end

local function drop_unleased(job)
  if is_scheduled(job) then unschedule(job) end
  for _, queue in ipairs(queues_of(job)) do
    close_queue(job, queue)
    redis.call('DEL', ready_key(job, queue), parked_key(job, queue))
  end
  local live = redis.call('HGETALL', K.live .. job.id)
  for i = 1, #live, 2 do
    if live[i + 1] == 'W' then forget_retry(job, live[i]) end
  end
end

-- The window: how many segments of a job are open, that is ready, under lease or waiting.

-- What the workers of a queue can speak at the same time: slots of those that announced themselves lately.
local function worker_slots(queue)
  local slots = 0
  for _, value in ipairs(redis.call('HVALS', K.worker_slots .. queue)) do
    local count, expires = string.match(value, '^(%d+)|(%d+)$')
    if tonumber(expires) > now then slots = slots + tonumber(count) end
  end
  return slots
end

-- A tenant's jobs together may fill all slots, half as many wait behind them, and no job has fewer than `least`: so
-- one job alone keeps the fleet busy, and ten thousand jobs take the memory of `least` each.
local function window_of(job, least)
  local wanted = math.min(math.ceil(worker_slots(job.queue) * 3 / 2), MOST_WINDOW)
  local sharers = math.max(redis.call('LLEN', line_key(job, job.queue)), 1)
  return math.max(least, math.ceil(wanted / sharers))
end

-- Makes the next segments ready, as far as the window allows; at most so many, if a number is given.
local function open_window(job, least, most)
  if job.next >= job.total then return end
  local room = window_of(job, least) - (job.next - job.done - job.failed)
  local count = math.min(room, job.total - job.next, most or MOST_OPENED)
  if count <= 0 then return end
  local items = {}
  for index = job.next, job.next + count - 1 do items[#items + 1] = text(index) end
  make_all_ready(job, items, 'RPUSH')
  save(job, {next = job.next + count})
end

-- Leases. live[item] = L<fence>|<worker name>, mirrored in K.leases (expiry) and K.worker (boot_id); A instead of L
-- once the item runs alone.

local function lease_name(job_id, item, fence) return job_id .. '|' .. item .. '|' .. fence end

local function read_lease(job_id, item)
  local value = redis.call('HGET', K.live .. job_id, item)
  if not value then return nil end
  local kind, fence, worker = string.match(value, '^([LA])(%d+)|(.*)$')
  return fence, worker, kind == 'A'
end

-- Reading. What is long, or a document, may take seconds until it is planned; such jobs are `bulky`. A tenant has at most
-- half of the places of the workers that plan for them, so that nobody's documents keep all others waiting. What is over
-- that waits in K.unread for one of the tenant's to be read, and like any retry for its next look, should nobody call it.

local READ_AGAIN_MS = 60000
local MOST_PASSED = 100

local function is_reading(job, item) return item == 'plan' and job.bulky == '1' end

local function reading_places()
  local places = worker_slots('cpu')
  if places == 0 then return math.huge end -- nobody has said how many there are
  return math.max(1, math.floor(places / 2))
end

-- Leases that were lost in an older copy of the database are forgotten here.
local function count_reading(tenant)
  local count = 0
  for _, name in ipairs(redis.call('SMEMBERS', K.reading .. tenant)) do
    local id, item, fence = string.match(name, '^([^|]*)|([^|]*)|(%d+)$')
    if read_lease(id, item) == fence then count = count + 1 else redis.call('SREM', K.reading .. tenant, name) end
  end
  return count
end

local function has_reading_place(job) return count_reading(job.tenant) < reading_places() end

-- The job's plan, which no queue holds any more.
local function await_reading_place(job)
  redis.call('HSET', K.live .. job.id, 'plan', 'W')
  redis.call('ZADD', K.retries, text(now + READ_AGAIN_MS), job.id .. '|plan')
  redis.call('ZADD', K.unread .. job.tenant, text(now), job.id)
  tally(job, 'retries:', 1)
end

-- One of the tenant's has been read, or is not read any more.
local function end_reading(tenant, name)
  redis.call('SREM', K.reading .. tenant, name)
  for _ = 1, MOST_PASSED do
    local id = redis.call('ZPOPMIN', K.unread .. tenant)[1]
    if not id then return end
    local job = redis.call('ZSCORE', K.retries, id .. '|plan') and load_job(id)
    if job then
      forget_retry(job, 'plan')
      make_ready(job, 'plan', 'LPUSH')
      if job.state ~= 'paused' then return end
    end
  end
end

local function forget_lease(job, item, fence, worker)
  local name = lease_name(job.id, item, fence)
  redis.call('ZREM', K.leases, name)
  redis.call('HDEL', K.worker .. worker, name)
  redis.call('HDEL', K.live .. job.id, item)
  tally(job, 'leases:', -1)
  save(job, {leased = job.leased - 1})
  if is_reading(job, item) then end_reading(job.tenant, name) end
end

-- Ends.

local function give_back_admission(job)
  local held = job.estimated_audio_ms - job.credit_ms
  count_admission(job, -1, 0 - held)
  count_end(job.tenant, K.admission .. job.tenant, held)
  count_end(EVERYBODY, K.total, held)
  local tenant = K.admission .. job.tenant
  if redis.call('HGET', tenant, 'jobs') == '0' then redis.call('DEL', tenant) end
  count_flow(job, 'out', audio_in_flow(job))
end

local count_child -- of a batch; defined with batches, behind the ends

local function finish_job(job, state, failure)
  give_back_admission(job)
  drop_unleased(job)
  local live = redis.call('HGETALL', K.live .. job.id)
  for i = 1, #live, 2 do
    local _, fence, worker = string.match(live[i + 1], '^([LA])(%d+)|(.*)$')
    forget_lease(job, live[i], fence, worker)
  end
  redis.call('SREM', K.active, job.id)
  redis.call('ZREM', K.deadlines, job.id)
  local expires = now + job.retention_s * 1000
  redis.call('ZADD', K.retention, text(expires), job.tenant .. '|' .. job.id)
  move(job, state)
  local changes = {finished_at_ms = now, expires_at_ms = expires}
  if failure then changes.error = cjson.encode(failure) end
  save(job, changes)
  event(job, 'job.' .. state, failure)
  if job.batch then count_child(job) end
  if job.kind == 'batch' then event(job, 'batch.completed') end
end

-- `created`: artifacts that are stored now; there is nothing left to do.
local function succeed_with(job, created)
  if job.state == 'paused' then
    -- Nothing is left that a pause could hold back.
    move(job, 'running')
    event(job, 'job.resumed')
  end
  for _, artifact in ipairs(created) do
    event(job, 'job.artifact.created', {name = artifact.name, artifact_type = artifact.type, bytes = artifact.bytes})
  end
  finish_job(job, 'succeeded')
end

local function expire_job(job)
  local failure = {code = 'deadline_exceeded', detail = 'the deadline passed before the job was done'}
  finish_job(job, job.started_at_ms > 0 and 'failed' or 'expired', failure)
end

local function is_overdue(job) return job.deadline_ms > 0 and job.deadline_ms <= now end

-- A batch that is cancelled waits for its jobs: until each was told (K.recalled), and has ended.
local function waits_for_jobs(job)
  if job.kind ~= 'batch' then return false end
  if redis.call('HEXISTS', K.recalled, job.id) == 1 then return true end
  local ended = tonumber(redis.call('HGET', K.job .. job.id, 'ended')) or 0
  return ended < redis.call('ZCARD', K.children .. job.id)
end

local function settle_cancellation(job)
  if job.state == 'cancelling' and job.leased == 0 and not waits_for_jobs(job) then
    finish_job(job, 'cancelled', {code = 'cancelled_by_user', detail = 'the job was cancelled'})
  end
end

-- Of a job that has not ended. No item of it is given out any more; it has ended once no worker holds one.
local function cancel_job(job)
  if job.leased == 0 and (job.state == 'pending' or not waits_for_jobs(job)) then
    finish_job(job, 'cancelled', {code = 'cancelled_by_user', detail = 'the job was cancelled'})
    return
  end
  drop_unleased(job)
  redis.call('ZREM', K.deadlines, job.id)
  move(job, 'cancelling')
end

-- Finds the job whose lease a worker speaks of: 'held', 'lost' or 'aborted', the worker's name, and whether the item
-- runs alone.
-- A lease of a cancelled job is taken away here, since its holder has just been told.
local function resolve(job_id, item, fence)
  local job = load_job(job_id)
  if not job or is_terminal(job) then return job, 'aborted' end
  local current, worker, is_alone = read_lease(job_id, item)
  local is_current = current == fence
  if job.state == 'cancelling' then
    if is_current then
      forget_lease(job, item, fence, worker)
      settle_cancellation(job)
    end
    return job, 'aborted'
  end
  if not is_current then return job, 'lost' end
  return job, 'held', worker, is_alone
end

-- A repeated call whose first answer may have been lost is told what is ready now, as a hint for tickets.
local function answer_again(job_id)
  local job = load_job(job_id)
  for _, queue in ipairs(queues_of(job)) do add_tickets(queue, redis.call('LLEN', ready_key(job, queue))) end
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

-- The pace of a queue's workers: what they have spoken by the time it took them. Both fade with time in which there was
-- work, so that the pace of an idle fleet stays what it was; a rest is no longer than the segment that follows it took.

local function count_throughput(queue, audio_ms, engine_ms)
  local audio, busy, at = unpack(redis.call('HMGET', K.throughput, queue .. ':audio_ms', queue .. ':busy_ms', queue .. ':at_ms'))
  local most = engine_ms + 250 -- and the way to the store
  local passed = math.max(0, math.min(at and now - at or most, most))
  local kept = math.exp(0 - passed / DRAIN_TAU_MS)
  redis.call('HSET', K.throughput, queue .. ':at_ms', text(now),
    queue .. ':audio_ms', string.format('%.3f', (audio or 0) * kept + audio_ms),
    queue .. ':busy_ms', string.format('%.3f', (busy or 0) * kept + passed))
end

-- Audio time spoken in a unit of time; 0 while nothing is known.
local function throughput(queue)
  local audio, busy = unpack(redis.call('HMGET', K.throughput, queue .. ':audio_ms', queue .. ':busy_ms'))
  return audio and audio / math.max(busy, 1) or 0
end

-- Of all queues together.
local function total_throughput()
  local rate = 0
  for _, field in ipairs(redis.call('HKEYS', K.throughput)) do
    local queue = string.match(field, '^(.*):at_ms$')
    if queue then rate = rate + throughput(queue) end
  end
  return rate
end

-- Admission.

local SHORTEST_WAIT_MS, LONGEST_WAIT_MS = 1000, 300000

-- The answer of a refusal: the limit, what is held of it, how much may be, and in how many seconds there will probably be
-- room; '' where waiting is of no use.
local function refuse(limit, held, most, wait_ms)
  local wait = ''
  if wait_ms then
    wait = string.format('%.3f', math.min(LONGEST_WAIT_MS, math.max(SHORTEST_WAIT_MS, wait_ms)) / 1000)
  end
  return answer('refused', limit, text(held), text(most), wait)
end

-- How long until `needed` of what jobs hold ('jobs' or 'audio_ms') has been given back, at the pace of the last ends; by
-- the workers' pace while none has ended yet. nil if neither is known.
local function wait_for(scope, name, needed, needed_audio_ms)
  local jobs, ended, spent, at = unpack(redis.call('HMGET', K.ends .. scope, 'jobs', name, 'spent_ms', 'at_ms'))
  ended, spent = tonumber(ended) or 0, tonumber(spent) or 0
  if ended == 0 or spent == 0 then
    local rate = total_throughput()
    return rate > 0 and needed_audio_ms / rate or nil
  end
  -- It is given back by whole jobs, so on average half a one more than is needed.
  if name ~= 'jobs' then needed = needed + ended / jobs / 2 end
  local since = math.max(0, now - tonumber(at))
  local wait = needed / ended * spent
  -- The ends have become slower than they were.
  if since > wait then wait = needed / ended * (spent + since) end
  return math.max(wait - since, wait / 2)
end

-- what: 'jobs' or 'audio_ms'
local function refuse_held(scope, what, held, most, wait_ms)
  if scope == EVERYBODY then return refuse('total_' .. what, held, most, wait_ms) end
  enqueue_quota_event(scope, what, held, most)
  return refuse('tenant_' .. what, held, most, wait_ms)
end

local function check_admission(scope, held_key, audio_ms, max_jobs, max_audio)
  local held = redis.call('HMGET', held_key, 'jobs', 'audio_ms')
  local jobs, audio = tonumber(held[1]) or 0, tonumber(held[2]) or 0
  if jobs + 1 > max_jobs then
    local wait = jobs > 0 and (wait_for(scope, 'jobs', jobs + 1 - max_jobs, audio / jobs) or LONGEST_WAIT_MS)
    return refuse_held(scope, 'jobs', jobs, max_jobs, wait)
  end
  local excess = audio + audio_ms - max_audio
  if excess > 0 then
    -- What is more than the whole room never fits.
    local wait = audio_ms <= max_audio and (wait_for(scope, 'audio_ms', excess, excess) or LONGEST_WAIT_MS)
    return refuse_held(scope, 'audio_ms', audio, max_audio, wait)
  end
  return nil
end

-- The answer that refuses one more job of so much audio and so many bytes of input, or nil. limits: tenant jobs, audio
-- ms and bytes, jobs and audio ms of all, with colons between; what is left out is not limited.
local function admission_refusal(tenant, audio_ms, bytes, limits)
  local jobs, audio, stored, all_jobs, all_audio = string.match(limits, '^(%d*):(%d*):(%d*):(%d*):(%d*)$')
  local most_stored = limit_of(tenant, 'stored_bytes', stored)
  local refusal = check_admission(tenant, K.admission .. tenant, audio_ms, limit_of(tenant, 'jobs', jobs),
    limit_of(tenant, 'audio_ms', audio))
  if refusal then return refusal end
  if most_stored < math.huge then
    local held = stored_of(tenant)
    -- What the job makes comes on top, and nobody knows how much that will be: it needs some room at least.
    if held + math.max(bytes, 1) > most_stored then
      enqueue_quota_event(tenant, 'stored_bytes', held, most_stored)
      return refuse('tenant_stored_bytes', held, most_stored)
    end
  end
  return check_admission(EVERYBODY, K.total, audio_ms, tonumber(all_jobs) or math.huge, tonumber(all_audio) or math.huge)
end

-- The number of the take that is in place or being made, and the highest that was given out.
local function take_of(job_id, item)
  local value = redis.call('HGET', K.takes .. job_id, item)
  if not value then return 1, 1 end
  local current, highest = string.match(value, '^(%d+):(%d+)$')
  return tonumber(current), tonumber(highest)
end

-- Whether this result was taken, be it that another take is in its place by now.
local function is_committed(job_id, item, line)
  if redis.call('HGET', K.results .. job_id, item) == line then return true end
  local _, highest = take_of(job_id, item)
  for number = 1, highest do
    if redis.call('HGET', K.takes .. job_id, item .. ':' .. number) == line then return true end
  end
  return false
end

-- Results of segments. The line is written and explained by storage/segments/results.py; releases without a quality gate kept
-- fence, samples and digest alone.

local function read_result(line)
  local samples, chars, attempts, reused, flags =
    string.match(line, '^D%d+:(%d+):(%d+):(%d+):([01]):%d+:[^:]*:[^:]*:[^:]*:[^:]*:(.*)$')
  return {
    samples = tonumber(samples or string.match(line, '^D%d+:(%d+):')), chars = tonumber(chars) or 0,
    attempts = tonumber(attempts) or 1, is_reused = reused == '1', is_flagged = flags ~= nil and flags ~= '',
  }
end

-- sign is 1 for a result that came and -1 for one that is taken back. What was spent on it stays spent.
local function count_result(job, result, sign)
  local record = K.job .. job.id
  if result.is_reused then
    redis.call('HINCRBY', record, 'reused', sign)
    redis.call('HINCRBY', record, 'samples_reused', text(sign * result.samples))
  end
  if result.is_flagged then redis.call('HINCRBY', record, 'flagged', sign) end
  save(job, {
    done = job.done + sign, chars_done = job.chars_done + sign * result.chars,
    samples_done = job.samples_done + sign * result.samples,
  })
end

-- The segment is not done any more; returns its line, or nil if it was not done.
local function take_back_result(job, item)
  local line = redis.call('HGET', K.results .. job.id, item)
  if not line or string.sub(line, 1, 1) ~= 'D' then return nil end
  redis.call('HDEL', K.results .. job.id, item)
  local result = read_result(line)
  count_result(job, result, -1)
  if result.is_flagged then forget_warnings(job, tonumber(item)) end
  return line
end

-- Batches. Their items are shards of lines that become jobs, which name the batch; the batch has succeeded once all
-- lines have become jobs and all of these have ended. Jobs that go on after their end are not counted again.

local function settle_batch(id)
  local batch = load_job(id)
  if batch and batch.state == 'cancelling' then
    settle_cancellation(batch)
    return
  end
  if not batch or is_terminal(batch) or batch.total == 0 or batch.done < batch.total then return end
  local lines, ended = unpack(redis.call('HMGET', K.job .. id, 'lines', 'ended'))
  if (tonumber(ended) or 0) < tonumber(lines) then return end
  if batch.state == 'paused' then move(batch, 'running') end
  finish_job(batch, 'succeeded')
end

count_child = function(job)
  local record = K.job .. job.batch
  if redis.call('EXISTS', record) == 0 or redis.call('HSETNX', K.job .. job.id, 'counted', 1) == 0 then return end
  redis.call('HINCRBY', record, 'ended', 1)
  redis.call('HINCRBY', record, 'ended_' .. job.state, 1)
  settle_batch(job.batch)
end

-- Jobs of kind voice_cache: their segments are voices, which fail one by one and are assembled to nothing.

local function is_voice_job(job) return job.kind == 'voice_cache' end

-- Where voices are prepared there are fewer places than slots, and Redis does not know how many. What finds none waits
-- for its next look like any other, and in K.voice_slot_waiters for a voice that leaves, which makes room for whoever came first.

-- A place is free: returns the job whose voice may have it, or nil if none waits.
local function admit_waiter(queue)
  for _ = 1, MOST_PASSED do
    local name = redis.call('ZPOPMIN', K.voice_slot_waiters .. queue)[1]
    if not name then return nil end
    local id, item = string.match(name, '^([^|]*)|([^|]*)$')
    local job = redis.call('ZSCORE', K.retries, name) and load_job(id)
    if job then
      forget_retry(job, item)
      make_ready(job, item, 'LPUSH')
      if job.state ~= 'paused' then return id end
    end
  end
  return nil
end

-- After a voice of this job, whatever became of it. Where none waits for a place there may be more than the one that is
-- free now: another voice is opened to see, and waits if there are not.
local function follow_voice(job, least)
  local admitted = admit_waiter(job.queue)
  if admitted ~= job.id then open_window(job, least, admitted and 1 or 2) end
end

-- Ends the job once every voice has its outcome.
local function settle_voices(job)
  if job.done + job.failed < job.total then return end
  if job.failed > 0 then
    local detail = text(job.failed) .. ' of ' .. text(job.total) .. ' voices could not be prepared'
    finish_job(job, 'failed', {code = 'voice_cache_failed', detail = detail})
    return
  end
  if job.state == 'paused' then
    -- Nothing is left that a pause could hold back.
    move(job, 'running')
    event(job, 'job.resumed')
  end
  finish_job(job, 'succeeded')
end

-- What a caller gave or asked for is theirs to mend. A request that no API refused and an engine does is ours.
local function is_callers_fault(job, item, code)
  return CALLERS_FAULTS[code] and not (code == 'invalid_request' and is_segment(item) and not is_voice_job(job))
end

-- For operators; what it says holds no text of the job.
local function dead_letter(job, item, failure)
  if is_callers_fault(job, item, failure.code) then return end
  redis.call('XADD', K.dead, 'MAXLEN', '~', DEAD_KEPT, '*', 'at_ms', text(now), 'job', job.id, 'tenant', job.tenant,
    'item', item, 'code', failure.code, 'detail', failure.detail, 'attempts', text((read_tries(job.id, item))))
end

-- The item is given up, and the job with it unless it is one voice of many. failure.code and failure.detail are set.
local function fail_item(job, item, fence, failure)
  redis.call('HSET', K.results .. job.id, item, 'X' .. fence)
  dead_letter(job, item, failure)
  if is_segment(item) then
    failure.segment = tonumber(item)
    save(job, {failed = job.failed + 1})
    event(job, 'job.segment.failed', failure)
  end
  if is_segment(item) and is_voice_job(job) then
    warn(job, {code = failure.code, detail = failure.detail, segment = failure.segment})
    -- At least one that is open; the next voice that succeeds opens the window as wide as it should be.
    follow_voice(job, 1)
    settle_voices(job)
  else
    finish_job(job, 'failed', failure)
  end
end

-- The item goes back without a result. reason is 'shutdown' or one that counts as a suspicion. Attempts are charged
-- only to an item that ran alone, because whoever shares a batch with poison is innocent; and a suspect that did not
-- run, since it still waited for the others to leave, has nothing to do with the end of its worker.
local function release_item(job_id, item, fence, reason, max_attempts)
  local job, verdict, worker, is_alone = resolve(job_id, item, fence)
  if verdict ~= 'held' then return end
  forget_lease(job, item, fence, worker)
  local attempts, suspicions, last = read_tries(job_id, item)
  if reason == 'shutdown' or (suspicions >= QUARANTINE and not is_alone) then
    make_ready(job, item, 'LPUSH')
    return
  end
  if is_alone then attempts = attempts + 1 end
  write_tries(job_id, item, attempts, suspicions + 1, last)
  if attempts >= max_attempts then
    local detail = 'the worker was lost ' .. (suspicions + 1) .. ' times at this item, last: ' .. reason
    fail_item(job, item, fence, {code = 'worker_lost', detail = detail})
    return
  end
  save(job, {retries = job.retries + 1})
  make_ready(job, item, 'LPUSH')
end
