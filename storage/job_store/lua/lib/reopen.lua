-- What sends an ended job on, and takes back what it has done.

-- Takes. takes[item] = '<number of the take in place>:<highest number given out>', nothing while there is one take;
-- takes[item:n] = the result of a take that is not in place; edits[item] and edits[item:n] = what they were made from.

local function filed(item, number) return item .. ':' .. number end

local function set_or_clear(key, field, value)
  if value and value ~= '' then redis.call('HSET', key, field, value) else redis.call('HDEL', key, field) end
end

local function edit_of(job, item) return redis.call('HGET', K.edits .. job.id, item) or '' end

-- The take in place is put aside with its edit; the segment is not done any more.
local function file_take(job, item, number)
  redis.call('HSET', K.takes .. job.id, filed(item, number), take_back_result(job, item))
  set_or_clear(K.edits .. job.id, filed(item, number), edit_of(job, item))
end

-- What the call changes of its item: names with commas. nil if it does not say.
local function changed_of(call, place) return call.changed[place] ~= '' and call.changed[place] or nil end

local function is_done(job, item)
  local line = redis.call('HGET', K.results .. job.id, item)
  return line and string.sub(line, 1, 1) == 'D'
end

local function is_failed(job, item)
  local line = redis.call('HGET', K.results .. job.id, item)
  return line and string.sub(line, 1, 1) == 'X'
end

local function forget_failure(job, item)
  redis.call('HDEL', K.results .. job.id, item)
  save(job, {failed = job.failed - 1})
end

local function is_leased(job, item)
  local live = redis.call('HGET', K.live .. job.id, item)
  return live and live ~= 'W'
end

-- Takes an open item out of wherever it is; a worker that has it will hear that its lease is lost.
local function withdraw(job, item)
  local queue = queue_of(job, item)
  local live = redis.call('HGET', K.live .. job.id, item)
  if live == 'W' then
    forget_retry(job, item)
  elseif live then
    local fence, worker = read_lease(job.id, item)
    forget_lease(job, item, fence, worker)
  elseif job.state == 'paused' then
    redis.call('LREM', parked_key(job, queue), 1, item)
  elseif redis.call('LREM', ready_key(job, queue), 1, item) == 1 then
    count_ready(job, queue, -1)
    if redis.call('EXISTS', ready_key(job, queue)) == 0 then leave_ring(job, queue) end
  end
end

-- So many segments of a job that has not ended are open again; -1 if one is done after all.
local function count_reopened(job, count)
  count_flow(job, count > 0 and 'in' or 'out', math.abs(count) * job.cost_ms)
  save(job, {out_ms = job.out_ms - count * job.cost_ms})
end

-- A result that was there before, as take `number`, is in place. `changed`: as of `changed_of`.
local function put_result(job, item, line, number, changed)
  redis.call('HSET', K.results .. job.id, item, line)
  local result = read_result(line)
  count_result(job, result, 1)
  if result.is_flagged then
    warn(job, {code = 'segment_quality', detail = 'the selected take did not pass', segment = tonumber(item)})
  end
  event(job, 'job.segment.selected', {segment = tonumber(item), take = number, changed = changed})
end

-- Puts a take in place with its edit. other: item, number; what the item has now: current, highest, was_done; and the
-- line of the take's result; and what is changed by it.
local function select_take(job, other)
  local id, item, kept = job.id, other.item, filed(other.item, other.number)
  if other.was_done then
    file_take(job, item, other.current)
  elseif is_failed(job, item) then
    forget_failure(job, item)
  elseif not is_terminal(job) then
    withdraw(job, item)
  end
  redis.call('HSET', K.takes .. id, item, other.number .. ':' .. other.highest)
  redis.call('HDEL', K.takes .. id, kept)
  set_or_clear(K.edits .. id, item, redis.call('HGET', K.edits .. id, kept))
  redis.call('HDEL', K.edits .. id, kept)
  put_result(job, item, other.line, other.number, other.changed)
  if not other.was_done and not is_terminal(job) then count_reopened(job, -1) end
end

-- An assembly under way is of something else by now.
local function void_assembly(job)
  if job.phase == 'assembling' then withdraw(job, 'assemble') end
  redis.call('HDEL', K.tries .. job.id, 'assemble')
end

-- Assembles what is there now.
local function assemble_anew(job)
  void_assembly(job)
  save(job, {phase = 'assembling'})
  make_ready(job, 'assemble', 'RPUSH')
end

-- Classes.

local function class_for(job, audio_ms)
  local priority = redis.call('HGET', K.job .. job.id, 'priority')
  if priority == 'high' then return 'interactive' end
  if priority == 'low' or audio_ms > INTERACTIVE_AUDIO_MS then return 'bulk' end
  return 'interactive'
end

local function requeue_last(job, audio_ms)
  save(job, {queue_mark_ms = count_flow(job, 'in', audio_ms) - audio_ms})
end

local function change_class(job, class)
  local left = audio_in_flow(job)
  local waiting = {}
  count_flow(job, 'out', left)
  for _, queue in ipairs(queues_of(job)) do
    if redis.call('EXISTS', ready_key(job, queue)) == 1 then
      leave_ring(job, queue)
      waiting[#waiting + 1] = queue
    end
  end
  save(job, {class = class})
  for _, queue in ipairs(waiting) do enter_round_robin(job, queue) end
  requeue_last(job, left)
end

-- Reopening.

-- The janitor may be deleting the objects of a job whose retention is over: it must not come back.
local function is_over(job)
  local expires = redis.call('HGET', K.job .. job.id, 'expires_at_ms')
  return is_terminal(job) and expires and tonumber(expires) <= now
end

-- What a job that has ended may still lack, as results that say so: items without one, in order. Failures are forgotten.
local function undone_segments(job)
  local undone = {}
  for first = 0, job.next - 1, UNPACKED do
    local names = {}
    for index = first, math.min(first + UNPACKED, job.next) - 1 do names[#names + 1] = text(index) end
    for i, line in ipairs(redis.call('HMGET', K.results .. job.id, unpack(names))) do
      if not line or string.sub(line, 1, 1) ~= 'D' then
        undone[#undone + 1] = names[i]
        if line then redis.call('HDEL', K.results .. job.id, names[i]) end
      end
    end
  end
  return undone
end

-- Failed attempts of before do not count; an assembly that succeeded keeps its result until the next one does.
local function forget_attempts(job, items)
  local others = {'plan', 'assemble'}
  for _, item in ipairs(others) do
    if is_failed(job, item) then redis.call('HDEL', K.results .. job.id, item) end
  end
  redis.call('HDEL', K.tries .. job.id, unpack(others))
  for first = 1, #items, UNPACKED do
    redis.call('HDEL', K.tries .. job.id, unpack(items, first, math.min(first + UNPACKED - 1, #items)))
  end
end

local function open_again(job, items, window)
  if is_unplanned(job) then
    save(job, {phase = 'planning'})
    make_ready(job, first_item(job), 'RPUSH')
  elseif job.done == job.total then
    save(job, {phase = 'assembling'})
    make_ready(job, 'assemble', 'RPUSH')
  else
    save(job, {phase = 'synthesizing'})
    if #items > 0 then make_all_ready(job, items, 'RPUSH') end
    open_window(job, window)
  end
end

-- An ended job waits again, for what it lacks: `items` are its segments that were opened and are not done.
local function reopen_job(job, items, reason, window)
  -- As in submit: an audit under way would not meet a job that came after its beginning.
  if current_audit() then save(job, {audit = current_audit()}) end
  forget_attempts(job, items)
  -- They are of voices that failed, and these are tried again.
  if is_voice_job(job) then write_warnings(job, {}) end
  local spoken = job.done * job.cost_ms
  local left = job.estimated_audio_ms - spoken
  redis.call('ZREM', K.retention, job.tenant .. '|' .. job.id)
  redis.call('HDEL', K.job .. job.id, 'finished_at_ms', 'expires_at_ms', 'error', 'started_at_ms', 'deadline_ms',
    'not_before_ms', 'mends')
  job.started_at_ms, job.deadline_ms = 0, 0
  save(job, {
    class = class_for(job, left), out_ms = spoken, credit_ms = spoken, failed = 0, run = job.run + 1,
    done_at_reopen = job.done,
  })
  redis.call('SADD', K.active, job.id)
  count_admission(job, 1, left)
  requeue_last(job, left)
  move(job, 'pending')
  open_again(job, items, window)
  event(job, 'job.reopened', {reason = reason})
end

-- Calls that are not the same when they are repeated may bear a key, as submissions do.

-- Returns nil for a new one, or one without a key; else the answer to give.
local function replay_of(job, call)
  local known = call.key and redis.call('GET', K.idempotency .. job.tenant .. ':' .. call.key)
  if not known then return nil end
  local id, seen = string.match(known, '^([^|]*)|(.*)$')
  if seen ~= call.fingerprint or id ~= job.id then return answer('mismatch') end
  return answer_record(job.id)
end

local function remember_call(job, call)
  if not call.key then return end
  local key = K.idempotency .. job.tenant .. ':' .. call.key
  redis.call('SET', key, job.id .. '|' .. call.fingerprint, 'EX', call.key_ttl_s)
end

-- The job that the call is about, if that may be changed; else the answer to give.
local function job_of(call)
  local job = load_job(call.job)
  if not job or job.tenant ~= call.tenant then return nil, answer('missing') end
  if is_over(job) then return nil, answer('gone') end
  return job, replay_of(job, call)
end
