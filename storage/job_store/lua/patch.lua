-- What a user changes of a job that has not ended.

local function change_deadline(job, deadline_ms)
  if deadline_ms == 0 then
    redis.call('HDEL', K.job .. job.id, 'deadline_ms')
    redis.call('ZREM', K.deadlines, job.id)
  else
    save(job, {deadline_ms = deadline_ms})
    redis.call('ZADD', K.deadlines, text(deadline_ms), job.id)
  end
end

local function change_priority(job, priority)
  save(job, {priority = priority})
  local class = class_for(job, job.estimated_audio_ms - job.out_ms)
  if class ~= job.class then change_class(job, class) end
end

-- Of a job whose time has not come.
local function change_start(job, not_before_ms)
  if not_before_ms == 0 then
    redis.call('HDEL', K.job .. job.id, 'not_before_ms')
  else
    redis.call('HSET', K.job .. job.id, 'not_before_ms', text(not_before_ms))
    redis.call('ZADD', K.scheduled, text(not_before_ms), job.id)
  end
  if not_before_ms <= now then release_scheduled(job) end
end

-- Whether the job would start after its deadline, as the call has them.
local function starts_late(job, call)
  if not is_scheduled(job) or not (call.not_before_ms or call.deadline_ms) then return false end
  local starts = call.not_before_ms or tonumber(redis.call('HGET', K.job .. job.id, 'not_before_ms')) or 0
  local ends = call.deadline_ms or job.deadline_ms
  return ends > 0 and ends <= starts
end

-- call: job, tenant; of priority, deadline_ms, metadata (as JSON), retention_s and not_before_ms (before which it may not
--       start) what changes; a time of 0 is none
-- -> ok + record; conflict + state; begun (its time has come already); late (it would start after its deadline);
--    missing
register('patch', function(call)
  local job = load_job(call.job)
  if not job or job.tenant ~= call.tenant then return answer('missing') end
  if is_terminal(job) or job.state == 'cancelling' then return answer('conflict', {state = job.state}) end
  if call.not_before_ms and not is_scheduled(job) then return answer('begun') end
  if starts_late(job, call) then return answer('late') end

  if call.metadata then save(job, {metadata = call.metadata}) end
  if call.retention_s then save(job, {retention_s = call.retention_s}) end
  if call.deadline_ms then change_deadline(job, call.deadline_ms) end
  if call.priority then change_priority(job, call.priority) end
  if call.not_before_ms then change_start(job, call.not_before_ms) end
  return answer_record(job.id)
end)
