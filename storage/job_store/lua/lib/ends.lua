-- Ends: how a job gives back what it held, and which lease a worker still has of it.

local function give_back_admission(job)
  local held = job.estimated_audio_ms - job.credit_ms
  local jobs_left = count_admission(job, -1, 0 - held)
  count_end(job.tenant, K.admission .. job.tenant, held)
  count_end(EVERYBODY, K.total, held)
  if jobs_left == 0 then redis.call('DEL', K.admission .. job.tenant) end
  local left = audio_in_flow(job)
  if left ~= 0 then count_flow(job, 'out', left) end
end

local count_child -- of a batch; defined with batches, behind the ends

-- Of a job that holds nothing any more.
local function end_job(job, state, failure)
  redis.call('SREM', K.active, job.id)
  if job.deadline_ms > 0 then redis.call('ZREM', K.deadlines, job.id) end
  local expires = now + job.retention_s * 1000
  redis.call('ZADD', K.retention, text(expires), job.tenant .. '|' .. job.id)
  local changes = {finished_at_ms = now, expires_at_ms = expires}
  if failure then changes.error = cjson.encode(failure) end
  move(job, state, changes)
  event(job, 'job.' .. state, failure)
  if job.batch then count_child(job) end
  if job.kind == 'batch' then event(job, 'batch.completed') end
end

local function finish_job(job, state, failure)
  give_back_admission(job)
  drop_unleased(job)
  local live = redis.call('HGETALL', K.live .. job.id)
  for i = 1, #live, 2 do
    local _, fence, worker = string.match(live[i + 1], '^([LA])(%d+)|(.*)$')
    forget_lease(job, live[i], fence, worker)
  end
  end_job(job, state, failure)
end

local function tell_of_artifacts(job, created)
  for _, artifact in ipairs(created) do
    event(job, 'job.artifact.created', {name = artifact.name, artifact_type = artifact.type, bytes = artifact.bytes})
  end
end

-- There is nothing left to do.
local function succeed(job)
  if job.state == 'paused' then
    -- Nothing is left that a pause could hold back.
    move(job, 'running')
    event(job, 'job.resumed')
  end
  finish_job(job, 'succeeded')
end

local function expire_job(job)
  local failure = {code = 'deadline_exceeded', detail = 'the deadline passed before the job was done'}
  finish_job(job, job.started_at_ms > 0 and 'failed' or 'expired', failure)
end

local function is_overdue(job) return job.deadline_ms > 0 and job.deadline_ms <= now end

-- A batch that is cancelled waits for its jobs: until each got the cancellation (K.recalled), and has ended.
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
-- runs alone. A lease of a cancelled job is taken away here, since its holder has just been notified.
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

-- Ends the lease that a worker speaks of. -> job, or nil and the answer to a worker that does not hold it
local function end_lease(job_id, item, fence)
  local job, verdict, worker = resolve(job_id, item, fence)
  if verdict ~= 'held' then return nil, answer(verdict) end
  forget_lease(job, item, fence, worker)
  return job
end

local function answer_record(job_id) return answer('ok', {record = hash_at(K.job .. job_id)}) end

-- A repeated call whose first answer may have been lost gets what is ready now, as a hint for tickets.
local function answer_again(job_id)
  local job = load_job(job_id)
  for _, queue in ipairs(queues_of(job)) do add_tickets(queue, redis.call('LLEN', ready_key(job, queue))) end
  return answer('ok')
end
