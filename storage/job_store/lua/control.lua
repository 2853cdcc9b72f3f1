-- What a user does with a job that has not ended: cancel, pause, resume.

-- call: job, tenant
-- -> ok + record; conflict + state; missing
-- The jobs of a batch are cancelled behind this, by `recall`: there may be a hundred thousand of them.
register('cancel', function(call)
  local id, tenant = call.job, call.tenant
  local job = load_job(id)
  if not job or job.tenant ~= tenant then return answer('missing') end
  if is_terminal(job) and job.state ~= 'cancelled' then return answer('conflict', {state = job.state}) end
  if redis.call('EXISTS', K.children .. id) == 1 then redis.call('HSETNX', K.recalled, id, '') end
  if not is_terminal(job) and job.state ~= 'cancelling' then cancel_job(job) end
  return answer_record(id)
end)

-- call: job, tenant
-- -> ok + record; conflict + state; missing
register('pause', function(call)
  local id, tenant = call.job, call.tenant
  local job = load_job(id)
  if not job or job.tenant ~= tenant then return answer('missing') end
  if job.state ~= 'paused' then
    if not MOVES[job.state].paused then return answer('conflict', {state = job.state}) end
    for _, queue in ipairs(queues_of(job)) do
      if close_queue(job, queue) > 0 then redis.call('RENAME', ready_key(job, queue), parked_key(job, queue)) end
    end
    move(job, 'paused')
    event(job, 'job.paused')
  end
  return answer_record(id)
end)

-- call: job, tenant
-- -> ok + record; conflict + state; missing
register('resume', function(call)
  local id, tenant = call.job, call.tenant
  local job = load_job(id)
  if not job or job.tenant ~= tenant then return answer('missing') end
  if job.state == 'paused' then
    move(job, job.started_at_ms > 0 and 'running' or 'pending')
    for _, queue in ipairs(queues_of(job)) do
      local parked = parked_key(job, queue)
      local count = redis.call('LLEN', parked)
      if count > 0 then
        redis.call('RENAME', parked, ready_key(job, queue))
        enter_round_robin(job, queue)
        count_ready(job, queue, count)
        add_tickets(queue, count)
      end
    end
    event(job, 'job.resumed')
  elseif job.state ~= 'running' and job.state ~= 'pending' then
    return answer('conflict', {state = job.state})
  end
  return answer_record(id)
end)
