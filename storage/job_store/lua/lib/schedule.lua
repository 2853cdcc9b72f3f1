-- Schedule. A job that may not start before a time waits for it in K.scheduled, with its plan in live as S, also one that
-- needs no planning. Its expected
-- audio is admitted but in no flow until then: no other job's wait depends on it, and no worker is wanted for it.

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

-- Behind all that wait.
local function join_queue(job)
  local before = count_flow(job, 'in', job.estimated_audio_ms) - job.estimated_audio_ms
  redis.call('HSET', K.job .. job.id, 'queue_mark_ms', text(before))
  make_ready(job, first_item(job), 'RPUSH')
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
