-- What became of items that did not go well: they failed, wait for something, or found a segment damaged.

-- call: job, item, fence, code, detail, max_attempts, rejected (attempts at the segment that were rejected), rejection
--       (what these were, or ''), delay_ms (only if another try can help)
-- -> ok | lost | aborted
register('fail', function(call)
  local id, item, fence = call.job, call.item, call.fence
  local failure = {code = call.code, detail = call.detail}
  local rejected = call.rejected

  local attempts, suspicions, last = read_tries(id, item)
  local was_retried = call.delay_ms and last == fence
  if was_retried or redis.call('HGET', K.results .. id, item) == 'X' .. fence then return answer_again(id) end
  local job, refusal = end_lease(id, item, fence)
  if not job then return refusal end

  write_tries(id, item, attempts + 1, suspicions, fence)
  if rejected > 0 then
    -- Should the job be reopened, this item goes on with other seeds.
    redis.call('HINCRBY', K.tries .. id, 'rejected_attempts:' .. item, rejected)
    redis.call('HINCRBY', K.job .. id, 'rerolls', rejected - 1)
  end
  if call.rejection ~= '' then
    redis.call('HSET', K.tries .. id, 'rejected:' .. item, call.rejection)
  end
  if not call.delay_ms or attempts + 1 >= call.max_attempts then
    fail_item(job, item, fence, failure)
    return answer('ok')
  end
  wait_for_retry(job, item, call.delay_ms)
  save(job, {retries = job.retries + 1})
  if is_voice_job(job) then admit_waiter(job.queue) end
  return answer('ok')
end)

-- call: job, item, fence, delay_ms, waits_for_voice_slot (whether all it waits for is a place among voices that are
--       prepared)
-- -> ok | lost | aborted
-- The item waits for something else; nothing is held against it.
register('postpone', function(call)
  local id, item, fence = call.job, call.item, call.fence

  local attempts, suspicions, last = read_tries(id, item)
  if last == fence then return answer_again(id) end
  local job, refusal = end_lease(id, item, fence)
  if not job then return refusal end

  write_tries(id, item, attempts, suspicions, fence)
  wait_for_retry(job, item, call.delay_ms)
  if call.waits_for_voice_slot then
    redis.call('ZADD', K.voice_slot_waiters .. job.queue, text(now), id .. '|' .. item)
  elseif is_voice_job(job) then
    admit_waiter(job.queue)
  end
  return answer('ok')
end)

-- call: job, fence (of the assembly), most_times (of one run), warnings (one for each damaged segment)
-- -> ok | exhausted | lost | aborted
-- What the store has lost of segments that were done is spoken again, as the same takes; the assembly goes back for it.
register('mend', function(call)
  local id, fence, most = call.job, call.fence, call.most_times
  local job, verdict, worker = resolve(id, 'assemble', fence)
  if verdict ~= 'held' then return answer(verdict) end
  if redis.call('HINCRBY', K.job .. id, 'mends', 1) > most then return answer('exhausted') end

  forget_lease(job, 'assemble', fence, worker)
  redis.call('HDEL', K.tries .. id, 'assemble')
  save(job, {phase = 'synthesizing'})
  for _, warning in ipairs(call.warnings) do
    local item = text(warning.segment)
    if take_back_result(job, item) then
      redis.call('HDEL', K.tries .. id, item)
      count_admission(job, 0, job.cost_ms)
      count_flow(job, 'in', job.cost_ms)
      save(job, {out_ms = job.out_ms - job.cost_ms, credit_ms = job.credit_ms - job.cost_ms})
      warn(job, warning)
      make_ready(job, item, 'LPUSH')
    end
  end
  return answer('ok')
end)
