-- Items are given out under leases, and leases are kept and given back.

local CALL_KEPT_S = 20 -- longer than any client repeats a command
local INTERACTIVE_SHARE = 5 -- of so many claims, bulk gets one, when both classes have work
local MOST_DROPS = 64 -- overdue jobs ended, and plans set aside, by one claim

local function next_class(queue)
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
local function next_job(queue, class)
  local ring, deficits = K.tenants .. queue .. ':' .. class, K.deficit .. queue .. ':' .. class
  while true do
    local tenant = redis.call('LINDEX', ring, 0)
    local id = redis.call('LINDEX', K.line .. queue .. ':' .. class .. ':' .. tenant, 0)
    local job = load_job(id)
    if not job or is_terminal(job) then return {id = id, tenant = tenant, class = class, state = 'gone'} end
    local credit = tonumber(redis.call('HGET', deficits, tenant)) or 0
    if credit >= item_cost(queue, job.cost_ms) or is_overdue(job) then return job end
    redis.call('HINCRBY', deficits, tenant, QUANTUM_MS)
    end_turn(job, queue, is_newcomer(job, queue))
    redis.call('LMOVE', ring, ring, 'LEFT', 'RIGHT')
  end
end

local function is_kept_waiting(job, queue)
  return is_reading(job, redis.call('LINDEX', ready_key(job, queue), 0)) and not has_reading_place(job)
end

-- The next item of the job, which is a plan and nothing else, goes to where it waits; others have this turn.
local function set_aside(job, queue)
  redis.call('LPOP', ready_key(job, queue))
  count_ready(job, queue, -1)
  leave_ring(job, queue)
  await_reading_place(job)
end

-- Returns the item, for how long the job had waited for its turn, and how many of the queue are ready now.
local function take_item(job, queue)
  local since = tonumber(redis.call('ZSCORE', waiting_key(job, queue), job.id)) or now
  local ready = ready_key(job, queue)
  local item = redis.call('LPOP', ready)
  local left = count_ready(job, queue, -1)
  redis.call('HINCRBY', deficit_key(job, queue), job.tenant, text(0 - item_cost(queue, job.cost_ms)))
  -- What is not planned has one item.
  if is_unplanned(job) or redis.call('EXISTS', ready) == 0 then
    leave_ring(job, queue)
  else
    redis.call('LMOVE', line_key(job, queue), line_key(job, queue), 'LEFT', 'RIGHT')
    redis.call('ZADD', waiting_key(job, queue), text(now), job.id)
  end
  return item, math.max(0, now - since), left
end

local function begin_job(job, item)
  local changes = {started_at_ms = now}
  -- One that was reopened is in the phase it goes on with.
  if is_unplanned(job) then changes.phase = 'planning' end
  move(job, 'running', changes)
  event(job, 'job.started')
  if item == WHOLE_ITEM and is_unplanned(job) then save(job, {phase = 'synthesizing', total = 1, next = 1}) end
end

local function lease(call, job, item)
  gather_changes(job)
  local fence = next_fence(K.fence)
  local name = lease_name(job.id, item, fence)
  redis.call('ZADD', K.leases, text(now + call.lease_ms), name)
  redis.call('HSET', K.worker .. call.worker, name, call.boot_id)
  redis.call('HSET', K.live .. job.id, item, 'L' .. fence .. '|' .. call.worker)
  tally(job, 'leases:', 1)
  if is_reading(job, item) then redis.call('SADD', K.reading .. job.tenant, name) end
  save(job, {leased = job.leased + 1})
  if job.state == 'pending' then begin_job(job, item) end
  write_changes(job)
  return fence
end

local function work_of(job, item, fence, waited_ms)
  local attempts, suspicions, _, rejected = read_tries(job.id, item)
  local spec, input_key, plan_key, deadline_ms, trace, recovered, plan, warnings = unpack(redis.call('HMGET',
    K.job .. job.id, 'spec', 'input_key', 'plan_key', 'deadline_ms', 'trace', 'recovered', 'plan', 'warnings'))
  local edit = is_segment(item) and redis.call('HGET', K.edits .. job.id, item)
  return {
    job = job.id, tenant = job.tenant, item = item, fence = fence, attempt = attempts + 1, suspicions = suspicions,
    spec = spec, input_key = input_key, plan_key = plan_key or '', deadline_ms = deadline_ms or '', edit = edit or '',
    take = (take_of(job.id, item)), class = job.class, rejected = rejected, waited_ms = waited_ms,
    trace = trace or '', recovered = recovered == '1', plan = plan or '', warnings = job.whole and warnings or '',
  }
end

-- What a claim gave, as its repetition finds it: one word for each item.
local function given_word(job, item, fence, waited_ms) return lease_name(job.id, item, fence) .. '|' .. text(waited_ms) end

-- The work of a repeated call that is under lease still.
local function given_before(name)
  local works = {}
  for word in string.gmatch(redis.call('GET', name) or '', '%S+') do
    local id, item, fence, waited_ms = string.match(word, '^([^|]*)|([^|]*)|(%d+)|(%d+)$')
    local job, verdict = resolve(id, item, fence)
    if verdict == 'held' then works[#works + 1] = work_of(job, item, fence, tonumber(waited_ms)) end
  end
  return works
end

-- The next items of the queue, at most so many. -> their works, and whether more may be ready than were looked at or
-- taken
local function take_items(call, most)
  local queue, works, words, dropped, left = call.queue, {}, {}, 0, 0
  while #works < most and dropped < MOST_DROPS do
    local class = next_class(queue)
    if not class then break end
    local job = next_job(queue, class)
    if job.state ~= 'gone' and not is_overdue(job) and not is_kept_waiting(job, queue) then
      local item, waited_ms
      item, waited_ms, left = take_item(job, queue)
      local fence = lease(call, job, item)
      words[#words + 1] = given_word(job, item, fence, waited_ms)
      works[#works + 1] = work_of(job, item, fence, waited_ms)
    else
      dropped = dropped + 1
      if job.state == 'gone' then
        -- A job that ends takes its items along; should the two ever disagree, the queue must not stop at it.
        close_queue(job, queue)
        redis.call('DEL', ready_key(job, queue))
      elseif is_overdue(job) then
        expire_job(job)
      else
        set_aside(job, queue)
      end
    end
  end
  if #works > 0 then redis.call('SET', K.claims .. call.call, table.concat(words, ' '), 'EX', CALL_KEPT_S) end
  return works, dropped == MOST_DROPS or #works == most and left > 0
end

-- What a call gave before, or gives now; nothing from a Redis that lost something.
local function claim_items(call, most)
  local before = given_before(K.claims .. call.call)
  if #before > 0 then return before, false end
  if redis.call('EXISTS', K.held) == 1 then return {}, false end
  return take_items(call, most)
end

-- call: queue, worker (its name), boot_id, lease_ms, call (an id of this call)
-- -> item + what its work needs; empty
register('claim', function(call)
  local works, may_have_more = claim_items(call, 1)
  if works[1] then return answer('item', works[1]) end
  if may_have_more then add_tickets(call.queue, 1) end
  return answer('empty')
end)

-- Workers that are awake. One that claims several items at a time looks again until it has found nothing for a while,
-- and what becomes ready meanwhile sends no ticket. The last poll, if it is empty, marks itself as the last in the same
-- call. Later items then know that no worker polls.

local LOOKS_MS = 1000 -- far longer than from one look to the next; a worker that died is believed to look for so long
local AWAKE_KEPT_MS = 600000 -- after which the workers of the queue may be others, which take an item for a ticket

local function note_look(call, looks_again)
  local key = K.awake .. call.queue
  local name = redis.call('HGET', key, 'name')
  local fields = {}
  if call.is_woken or not name then fields.rung = '0' end
  if looks_again then
    fields.looking, fields.name = text(now + LOOKS_MS), call.worker
  elseif not name or name == call.worker then
    fields.looking, fields.name = '0', call.worker
  end
  write_hash(key, fields)
  if not name then redis.call('PEXPIRE', key, AWAKE_KEPT_MS) end
end

-- call: as of `claim`; most (how many items it has room for), is_woken (whether a ticket sent it), is_last (whether it
--       stops polling if this one is empty)
-- -> ok + items (what the work of each needs)
-- While some are left another worker is woken, which may have room for them.
register('claim_several', function(call)
  local works, may_have_more = claim_items(call, call.most)
  note_look(call, #works < call.most and (#works > 0 or not call.is_last))
  if may_have_more then add_tickets(call.queue, 1) end
  return answer('ok', {items = works})
end)

-- A worker waits for a ticket, although there may be items: it has just come, or leaves them to others.
-- call: queue, worker (its name)
-- -> ok
register('look_away', function(call)
  note_look({queue = call.queue, worker = call.worker, is_woken = true}, false)
  if redis.call('HEXISTS', K.counters, call.queue) == 1 then add_tickets(call.queue, 1) end
  return answer('ok')
end)

-- call: lease_ms, leases (job, item, fence of each)
-- -> ok + leases: held | lost | aborted for each
register('extend', function(call)
  local until_ms = text(now + call.lease_ms)
  local verdicts = {}
  for i, each in ipairs(call.leases) do
    local _, verdict = resolve(each.job, each.item, each.fence)
    if verdict == 'held' then redis.call('ZADD', K.leases, 'XX', until_ms, lease_name(each.job, each.item, each.fence)) end
    verdicts[i] = verdict
  end
  return answer('ok', {leases = verdicts})
end)

-- From now on nothing else runs beside the item in its worker.
-- call: job, item, fence
-- -> ok | lost | aborted
register('isolate', function(call)
  local _, verdict, worker = resolve(call.job, call.item, call.fence)
  if verdict ~= 'held' then return answer(verdict) end
  redis.call('HSET', K.live .. call.job, call.item, 'A' .. call.fence .. '|' .. worker)
  return answer('ok')
end)

-- A lease that is not held any more is not an error here.
-- call: job, item, fence, reason, max_attempts
-- -> ok
register('release', function(call)
  release_item(call.job, call.item, call.fence, call.reason, call.max_attempts)
  return answer('ok')
end)

-- call: worker (its name), boot_id (the one that lives), max_attempts
-- -> ok
register('release_worker', function(call)
  local held = redis.call('HGETALL', K.worker .. call.worker)
  for i = 1, #held, 2 do
    if held[i + 1] ~= call.boot_id then
      local id, item, fence = string.match(held[i], '^([^|]*)|([^|]*)|(%d+)$')
      release_item(id, item, fence, 'worker_died', call.max_attempts)
    end
  end
  return answer('ok')
end)
