-- ARGV: queue, worker name, boot_id, lease ms, an id of this call
-- -> item + what its work needs; empty
local queue, worker, boot_id, lease_ms = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local call = K.claims .. ARGV[5]
local CALL_KEPT_S = 20 -- longer than any client repeats a command
local INTERACTIVE_SHARE = 5 -- of so many claims, bulk gets one, when both classes have work
local MOST_DROPS = 64 -- overdue jobs ended, and plans set aside, by one claim

local function next_class()
  local interactive = redis.call('EXISTS', K.tenants .. queue .. ':interactive') == 1
  local bulk = redis.call('EXISTS', K.tenants .. queue .. ':bulk') == 1
  if interactive and bulk then
    local turn = redis.call('HINCRBY', K.turns, queue, 1)
    return turn % INTERACTIVE_SHARE == 0 and 'bulk' or 'interactive'
  end
  return interactive and 'interactive' or bulk and 'bulk' or nil
end

-- Deficit round robin: the tenant in front is served while its credit lasts, then goes to the back with a
-- new quantum.
local function next_job(class)
  local ring, deficits = K.tenants .. queue .. ':' .. class, K.deficit .. queue .. ':' .. class
  while true do
    local tenant = redis.call('LINDEX', ring, 0)
    local id = redis.call('LINDEX', K.line .. queue .. ':' .. class .. ':' .. tenant, 0)
    local job = load_job(id)
    if not job or is_terminal(job) then return {id = id, tenant = tenant, class = class, state = 'gone'} end
    local credit = tonumber(redis.call('HGET', deficits, tenant)) or 0
    if credit >= item_cost(queue, job.cost_ms) or is_overdue(job) then return job end
    redis.call('HINCRBY', deficits, tenant, QUANTUM_MS)
    end_turn(job, queue)
    redis.call('LMOVE', ring, ring, 'LEFT', 'RIGHT')
  end
end

local function is_kept_waiting(job)
  return is_reading(job, redis.call('LINDEX', ready_key(job, queue), 0)) and not has_reading_place(job)
end

-- The next item of the job, which is a plan and nothing else, goes to where it waits; others have this turn.
local function set_aside(job)
  redis.call('LPOP', ready_key(job, queue))
  count_ready(job, queue, -1)
  leave_ring(job, queue)
  await_reading_place(job)
end

-- Returns the item, and for how long the job had waited for its turn.
local function take_item(job)
  local since = tonumber(redis.call('ZSCORE', waiting_key(job, queue), job.id)) or now
  local ready = ready_key(job, queue)
  local item = redis.call('LPOP', ready)
  count_ready(job, queue, -1)
  redis.call('HINCRBY', deficit_key(job, queue), job.tenant, text(0 - item_cost(queue, job.cost_ms)))
  if redis.call('EXISTS', ready) == 0 then
    leave_ring(job, queue)
  else
    redis.call('LMOVE', line_key(job, queue), line_key(job, queue), 'LEFT', 'RIGHT')
    redis.call('ZADD', waiting_key(job, queue), text(now), job.id)
  end
  return item, math.max(0, now - since)
end

local function lease(job, item)
  local fence = text(redis.call('INCR', K.fence))
  local name = lease_name(job.id, item, fence)
  redis.call('ZADD', K.leases, text(now + lease_ms), name)
  redis.call('HSET', K.worker .. worker, name, boot_id)
  redis.call('HSET', K.live .. job.id, item, 'L' .. fence .. '|' .. worker)
  tally(job, 'leases:', 1)
  if is_reading(job, item) then redis.call('SADD', K.reading .. job.tenant, name) end
  save(job, {leased = job.leased + 1})
  if job.state == 'pending' then
    move(job, 'running')
    save(job, {started_at_ms = now})
    -- One that was reopened is in the phase it goes on with.
    if item == 'plan' then save(job, {phase = 'planning'}) end
    event(job, 'job.started')
  end
  return fence
end

local function work_of(job, item, fence, waited_ms)
  local attempts, suspicions = read_tries(job.id, item)
  local work = redis.call('HMGET', K.job .. job.id, 'spec', 'input_key', 'plan_key', 'deadline_ms', 'trace', 'recovered')
  local edit = is_segment(item) and redis.call('HGET', K.edits .. job.id, item)
  local rejected = redis.call('HGET', K.tries .. job.id, 'rejected:' .. item)
  return answer('item', job.id, job.tenant, item, fence, attempts + 1, suspicions,
    work[1], work[2], work[3] or '', work[4] or '', edit or '', (take_of(job.id, item)), job.class, rejected or 0,
    waited_ms, work[5] or '', work[6] or '')
end

local known = redis.call('GET', call)
if known then
  -- A claim of a release before waits were told has three parts.
  local id, item, fence, waited_ms = string.match(known, '^([^|]*)|([^|]*)|(%d+)|?(%d*)$')
  local job, verdict = resolve(id, item, fence)
  if verdict == 'held' then return work_of(job, item, fence, waited_ms) end
end

if redis.call('EXISTS', K.held) == 1 then return answer('empty') end

for _ = 1, MOST_DROPS do
  local class = next_class()
  if not class then return answer('empty') end
  local job = next_job(class)
  if job.state == 'gone' then
    -- A job that ends takes its items along; should the two ever disagree, the queue must not stop at it.
    close_queue(job, queue)
    redis.call('DEL', ready_key(job, queue))
  elseif is_overdue(job) then
    expire_job(job)
  elseif is_kept_waiting(job) then
    set_aside(job)
  else
    local item, waited_ms = take_item(job)
    waited_ms = text(waited_ms)
    local fence = lease(job, item)
    redis.call('SET', call, lease_name(job.id, item, fence) .. '|' .. waited_ms, 'EX', CALL_KEPT_S)
    return work_of(job, item, fence, waited_ms)
  end
end
add_tickets(queue, 1)
return answer('empty')
