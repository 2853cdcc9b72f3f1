-- An ended job goes on: with what it lacks, or with another output.

-- call: job, tenant, seen_spec (that the caller saw), spec (from now on), limits, window (the smallest)
-- -> ok + record; conflict + state; changed; refused + see `refuse`; gone; missing
register('retry', function(call)
  local id, tenant, seen, spec = call.job, call.tenant, call.seen_spec, call.spec
  local job, settled = job_of(call)
  if settled then return settled end
  local present = redis.call('HGET', K.job .. id, 'spec')
  if not is_terminal(job) and job.state ~= 'cancelling' and present == spec then
    -- It is under way already, as it should be: the call is a repeat.
    for _, queue in ipairs(queues_of(job)) do add_tickets(queue, redis.call('LLEN', ready_key(job, queue))) end
    return answer_record(job.id)
  end
  if not is_terminal(job) or job.state == 'succeeded' then return answer('conflict', {state = job.state}) end
  if present ~= seen then return answer('changed') end
  local left = job.estimated_audio_ms - job.done * job.cost_ms
  local refusal = admission_refusal(tenant, left, call.limits)
  if refusal then return refusal end

  save(job, {spec = spec})
  reopen_job(job, undone_segments(job), 'retry', call.window)
  return answer_record(job.id)
end)

-- call: job, tenant, seen_spec (that the caller saw), spec (from now on), limits, window (the smallest); of an
--       idempotency key, if there is one, its sha256 (key), fingerprint and key_ttl_s
-- -> ok + record; conflict + state; changed; incomplete; mismatch; refused + see `refuse`; gone; missing
register('reassemble', function(call)
  local id, tenant, seen, spec = call.job, call.tenant, call.seen_spec, call.spec
  local job, settled = job_of(call)
  if settled then return settled end
  if redis.call('HGET', K.job .. id, 'spec') ~= seen then return answer('changed') end
  local is_complete = job.total > 0 and job.done == job.total
  if not is_terminal(job) then
    if job.state == 'cancelling' or not is_complete then return answer('conflict', {state = job.state}) end
    remember_call(job, call)
    if spec ~= seen then
      save(job, {spec = spec})
      assemble_anew(job)
    end
    return answer_record(job.id)
  end
  if not is_complete then return answer('incomplete') end
  local refusal = admission_refusal(tenant, 0, call.limits)
  if refusal then return refusal end

  remember_call(job, call)
  save(job, {spec = spec})
  reopen_job(job, {}, 'assemble', call.window)
  return answer_record(job.id)
end)
