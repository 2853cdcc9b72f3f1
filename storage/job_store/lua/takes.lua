-- A segment is generated again, or uses another of its takes.

-- call: job, tenant, item, seen_edit and seen_spec (that the caller saw), edit and spec (from now on), most_takes, limits,
--       window (the smallest); of an idempotency key, if there is one, its sha256 (key), fingerprint and key_ttl_s
-- -> ok + record; conflict + state; changed; leased; unknown; full; mismatch; refused + see `refuse`;
--    gone; missing
-- A finished segment is generated again from the edit, as its next take. A job that has succeeded is reopened for it;
-- one that ended otherwise keeps the edit until it is retried.
register('edit_segment', function(call)
  local id, tenant, item, window = call.job, call.tenant, call.item, call.window
  local job, settled = job_of(call)
  if settled then return settled end
  if job.state == 'cancelling' then return answer('conflict', {state = job.state}) end
  if tonumber(item) >= job.total then return answer('unknown') end
  local spec = redis.call('HGET', K.job .. id, 'spec')
  if edit_of(job, item) ~= call.seen_edit or spec ~= call.seen_spec then return answer('changed') end
  if is_leased(job, item) then return answer('leased') end

  local current, highest = take_of(id, item)
  local was_done, has_succeeded, number = is_done(job, item), job.state == 'succeeded', current
  if was_done then
    if highest >= call.most_takes then return answer('full') end
    local refusal = has_succeeded and admission_refusal(tenant, job.cost_ms, call.limits)
    if refusal then return refusal end
    file_take(job, item, current)
    number = highest + 1
    redis.call('HSET', K.takes .. id, item, number .. ':' .. number)
  elseif is_failed(job, item) then
    forget_failure(job, item)
  end
  set_or_clear(K.edits .. id, item, call.edit)
  redis.call('HDEL', K.tries .. id, item)
  save(job, {spec = call.spec})
  remember_call(job, call)
  event(job, 'job.segment.edited', {segment = tonumber(item), take = number})
  if has_succeeded then
    reopen_job(job, {item}, 'edit', window)
  elseif was_done and not is_terminal(job) then
    void_assembly(job)
    save(job, {phase = 'synthesizing', credit_ms = job.credit_ms - job.cost_ms})
    count_admission(job, 0, job.cost_ms)
    count_reopened(job, 1)
    make_ready(job, item, 'LPUSH')
  end
  return answer_record(job.id)
end)

-- call: job, tenant, item, take (its number), limits, window (the smallest)
-- -> ok + record; conflict + state; leased; unknown; refused + see `refuse`; gone; missing
-- Nothing is spoken: the take is in place at once, with the edit it was made from, and the job is assembled again. A job
-- that ended without success is not reopened for it.
register('select_take', function(call)
  local id, tenant, item, number, window = call.job, call.tenant, call.item, call.take, call.window
  local job, settled = job_of(call)
  if settled then return settled end
  if job.state == 'cancelling' then return answer('conflict', {state = job.state}) end
  if tonumber(item) >= job.total then return answer('unknown') end
  if is_leased(job, item) then return answer('leased') end

  local current, highest = take_of(id, item)
  local was_done = is_done(job, item)
  if was_done and current == number then return answer_record(job.id) end
  local line = redis.call('HGET', K.takes .. id, filed(item, number))
  if not line then return answer('unknown') end
  local has_succeeded = job.state == 'succeeded'
  local refusal = has_succeeded and admission_refusal(tenant, 0, call.limits)
  if refusal then return refusal end

  if was_done then
    file_take(job, item, current)
  elseif is_failed(job, item) then
    forget_failure(job, item)
  elseif not is_terminal(job) then
    withdraw(job, item)
  end
  redis.call('HSET', K.results .. id, item, line)
  redis.call('HSET', K.takes .. id, item, number .. ':' .. highest)
  redis.call('HDEL', K.takes .. id, filed(item, number))
  set_or_clear(K.edits .. id, item, redis.call('HGET', K.edits .. id, filed(item, number)))
  redis.call('HDEL', K.edits .. id, filed(item, number))
  local result = read_result(line)
  count_result(job, result, 1)
  if result.is_flagged then
    warn(job, {code = 'segment_quality', detail = 'the selected take did not pass', segment = tonumber(item)})
  end
  event(job, 'job.segment.selected', {segment = tonumber(item), take = number})
  if has_succeeded then
    reopen_job(job, {}, 'take', window)
  elseif not is_terminal(job) then
    if not was_done then count_reopened(job, -1) end
    if job.done == job.total then assemble_anew(job) else open_window(job, window) end
  end
  return answer_record(job.id)
end)
