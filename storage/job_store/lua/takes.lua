-- Segments are generated again, or use others of their takes: all that a call names, or none.

-- call: job, tenant, items; seen_edits (one of each item) and seen_spec (that the caller saw), edits and spec (from now
--       on), changed (of each item, what its event says), most_takes, limits,
--       window (the smallest); of an idempotency key, if there is one, its sha256 (key), fingerprint and key_ttl_s
-- -> ok + record; conflict + state; changed; leased; unknown; full; mismatch; refused + see `refuse`;
--    gone; missing
-- A finished segment is generated again from its edit, as its next take. A job that has succeeded is reopened for it;
-- one that ended otherwise keeps the edit until it is retried.
register('edit_segments', function(call)
  local id, items = call.job, call.items
  local job, settled = job_of(call)
  if settled then return settled end
  if job.state == 'cancelling' then return answer('conflict', {state = job.state}) end
  if redis.call('HGET', K.job .. id, 'spec') ~= call.seen_spec then return answer('changed') end
  local spoken = {} -- in reverse, as they are pushed to the front
  for i = #items, 1, -1 do
    local item = items[i]
    if tonumber(item) >= job.total then return answer('unknown') end
    if edit_of(job, item) ~= call.seen_edits[i] then return answer('changed') end
    if is_leased(job, item) then return answer('leased') end
    if is_done(job, item) then
      local _, highest = take_of(id, item)
      if highest >= call.most_takes then return answer('full') end
      spoken[#spoken + 1] = item
    end
  end
  local has_succeeded, reopened_ms = job.state == 'succeeded', #spoken * job.cost_ms
  local refusal = has_succeeded and admission_refusal(call.tenant, reopened_ms, call.limits)
  if refusal then return refusal end

  save(job, {spec = call.spec})
  remember_call(job, call)
  for i, item in ipairs(items) do
    local number, highest = take_of(id, item)
    if is_done(job, item) then
      file_take(job, item, number)
      number = highest + 1
      redis.call('HSET', K.takes .. id, item, number .. ':' .. number)
    elseif is_failed(job, item) then
      forget_failure(job, item)
    end
    set_or_clear(K.edits .. id, item, call.edits[i])
    redis.call('HDEL', K.tries .. id, item)
    event(job, 'job.segment.edited', {segment = tonumber(item), take = number, changed = changed_of(call, i)})
  end
  if has_succeeded then
    reopen_job(job, items, 'edit', call.window)
  elseif #spoken > 0 and not is_terminal(job) then
    void_assembly(job)
    save(job, {phase = 'synthesizing', credit_ms = job.credit_ms - reopened_ms})
    count_admission(job, 0, reopened_ms)
    count_reopened(job, #spoken)
    make_all_ready(job, spoken, 'LPUSH')
  end
  return answer_record(job.id)
end)

-- call: job, tenant, items, takes (the number of each item's), changed (as of `edit_segments`), limits, window (the smallest)
-- -> ok + record; conflict + state; leased; unknown; refused + see `refuse`; gone; missing
-- Nothing is spoken: the takes are in place at once, with the edits they were made from, and the job is assembled again.
-- A job that ended without success is not reopened for it.
register('select_takes', function(call)
  local id, window = call.job, call.window
  local job, settled = job_of(call)
  if settled then return settled end
  if job.state == 'cancelling' then return answer('conflict', {state = job.state}) end
  local others = {}
  for i, item in ipairs(call.items) do
    if tonumber(item) >= job.total then return answer('unknown') end
    if is_leased(job, item) then return answer('leased') end
    local number, current, highest = call.takes[i], take_of(id, item)
    local was_done = is_done(job, item)
    if not was_done or current ~= number then
      local line = redis.call('HGET', K.takes .. id, filed(item, number))
      if not line then return answer('unknown') end
      others[#others + 1] = {item = item, number = number, current = current, highest = highest, was_done = was_done,
        line = line, changed = changed_of(call, i)}
    end
  end
  if #others == 0 then return answer_record(job.id) end
  local has_succeeded = job.state == 'succeeded'
  local refusal = has_succeeded and admission_refusal(call.tenant, 0, call.limits)
  if refusal then return refusal end

  for _, other in ipairs(others) do select_take(job, other) end
  if has_succeeded then
    reopen_job(job, {}, 'take', window)
  elseif not is_terminal(job) then
    if job.done == job.total then assemble_anew(job) else open_window(job, window) end
  end
  return answer_record(job.id)
end)

-- call: job, tenant, item, fence (of its failure), line (of its result), sample_rate_hz
-- -> ok + record; conflict + state; unknown; gone; missing
-- A rejected attempt of a failed segment is its result. The job goes on once it is retried.
register('select_rejected', function(call)
  local id, item, line = call.job, call.item, call.line
  local job, settled = job_of(call)
  if settled then return settled end
  local present = redis.call('HGET', K.results .. id, item)
  if present == line then return answer_record(id) end
  if present ~= 'X' .. call.fence then return answer('unknown') end
  if not is_terminal(job) then return answer('conflict', {state = job.state}) end

  forget_failure(job, item)
  redis.call('HDEL', K.tries .. id, item, 'rejected:' .. item)
  save(job, {sample_rate_hz = call.sample_rate_hz})
  put_result(job, item, line, take_of(id, item))
  return answer_record(id)
end)
