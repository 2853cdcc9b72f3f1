-- Queues and rings. A job is in the line of (queue, class, tenant) exactly while its ready list there has items. A
-- tenant is in the ring of (queue, class) exactly while that line has jobs.

local QUANTUM_MS = 15000 -- audio a tenant may take in one turn
local MAX_COST_MS = 60000 -- bounds the turns a claim has to walk until an item is affordable
local CPU_COST_MS = 5000 -- plan and assemble: a few per turn
local UNPACKED = 1000 -- items in one command: Lua's stack is bounded

local function is_segment(item) return string.match(item, '^%d+$') ~= nil end

local function queue_of(job, item)
  return is_segment(item) and job.queue or 'cpu'
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

-- A returning tenant is served before the waiting ones, after other returning ones. So short jobs need not wait for
-- all. That turn is ahead of time: the next such one is after all there have had one, so that leaving and coming back
-- gains nothing. Those who have it are the front of the ring, in the order in which they came.
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

local function is_newcomer(job, queue) return redis.call('ZSCORE', newcomers_key(job, queue), job.tenant) == 'inf' end

-- Of the tenant in front. Only turns that had been waited for bring the others nearer to being new again.
local function end_turn(job, queue, is_new)
  local newcomers = newcomers_key(job, queue)
  if is_new then
    redis.call('ZREM', newcomers, job.tenant)
  else
    local turns = redis.call('HINCRBY', K.turns, queue .. ':' .. job.class, 1)
    redis.call('ZREMRANGEBYSCORE', newcomers, '-inf', turns)
  end
end

local function deactivate_tenant(job, queue)
  local ring, newcomers = ring_key(job, queue), newcomers_key(job, queue)
  local is_new = is_newcomer(job, queue)
  if is_new or redis.call('LINDEX', ring, 0) == job.tenant then end_turn(job, queue, is_new) end
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

-- Nothing goes before the first segment of a job: what comes back to the front stands after it. Returns the length.
local function put_in_line(key, items, push)
  local opens = push == 'LPUSH' and redis.call('LINDEX', key, 0) == '0'
  if opens then redis.call('LPOP', key) end
  local length
  for first = 1, #items, UNPACKED do
    length = redis.call(push, key, unpack(items, first, math.min(first + UNPACKED - 1, #items)))
  end
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
