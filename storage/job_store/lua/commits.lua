-- What became of items that went well: plans, segments, voices, shards of batches, assemblies.

-- Ends an item's lease with its result. -> job, or nil and the answer to a worker that does not hold the lease
local function accept_result(id, item, fence, result)
  local job, refusal = end_lease(id, item, fence)
  if job then redis.call('HSET', K.results .. id, item, result) end
  return job, refusal
end

-- call: job, fence, plan_key, segments, estimated_audio_ms, window (the smallest), warnings, first_words (of the text, or ''), input_chars (only if that is known by now)
-- -> ok | lost | aborted
register('commit_plan', function(call)
  local id, fence, plan_key = call.job, call.fence, call.plan_key
  local total, estimate, window = call.segments, call.estimated_audio_ms, call.window
  local result = 'D' .. fence .. ':' .. text(total) .. ':' .. text(estimate) .. ':' .. plan_key

  if redis.call('HGET', K.results .. id, 'plan') == result then return answer_again(id) end
  local job, refusal = accept_result(id, 'plan', fence, result)
  if not job then return refusal end

  local change = estimate - job.estimated_audio_ms
  count_admission(job, 0, change)
  count_flow(job, 'in', change)
  local changes = {
    plan_key = plan_key, total = total, next = 0, phase = 'synthesizing',
    estimated_audio_ms = estimate, cost_ms = math.floor(estimate / total),
  }
  if call.input_chars then changes.input_chars = call.input_chars end
  if call.first_words ~= '' then changes.first_words = call.first_words end
  save(job, changes)
  warn_all(job, call.warnings)
  -- Of voices, as many as there are places for are found out one by one.
  open_window(job, window, is_voice_job(job) and window or nil)
  return answer('ok')
end)

-- What a segment's commit counts, but for the window. call: as of `commit_segment`. -> its result
local function count_segment(job, call, line)
  local id, item, rate, engine_ms, reuse_id = job.id, call.item, call.sample_rate_hz, call.engine_ms, call.reuse_id
  local result = read_result(line)
  count_result(job, result, 1)
  save(job, {sample_rate_hz = rate, engine_ms = job.engine_ms + engine_ms, out_ms = job.out_ms + job.cost_ms})
  if result.attempts > 1 then redis.call('HINCRBY', K.job .. id, 'rerolls', result.attempts - 1) end
  if result.is_flagged then warn(job, {code = call.warning_code, detail = call.warning, segment = tonumber(item)}) end
  if reuse_id ~= '' then
    -- As long as the object lies there at least: retention begins when the job ends.
    redis.call('SET', K.reuse .. job.tenant .. ':' .. reuse_id, id .. ':' .. item .. ':' .. call.fence, 'EX', job.retention_s)
  end
  count_flow(job, 'out', job.cost_ms)
  result.audio_ms = math.floor(result.samples * 1000 / rate)
  if not result.is_reused then count_throughput(job.queue, result.audio_ms, engine_ms) end
  count_usage(job, {
    segments = 1, characters = result.chars, audio_ms = result.audio_ms, engine_ms = engine_ms,
    cached_audio_ms = result.is_reused and result.audio_ms or 0,
  })
  return result
end

-- call.worker: the name of the one that held it.
local function tell_of_segment(job, call, result)
  local number = tonumber(call.item)
  event(job, 'job.segment.completed', {segment = number, audio_ms = result.audio_ms, finish_reason = call.finish_reason,
    attempts = result.attempts, worker = call.worker})
  if result.is_flagged then
    event(job, 'job.segment.flagged', {segment = number, flags = call.flags, detail = call.warning})
  end
end

local function commit_segment(job, call, line)
  redis.call('HDEL', K.tries .. job.id, 'rejected:' .. call.item)
  local result = count_segment(job, call, line)
  open_window(job, call.window)
  if job.done == job.total then
    save(job, {phase = 'assembling'})
    make_ready(job, 'assemble', 'RPUSH')
  end
  tell_of_segment(job, call, result)
end

-- call: job, item, fence, line (of the result, without its fence), sample_rate_hz, finish_reason, flags, engine_ms,
--       window (the smallest), reuse_id (of the content, or ''), warning (why a segment with flags was kept, or ''),
--       warning_code
-- -> ok | lost | aborted
register('commit_segment', function(call)
  local id, item, fence = call.job, call.item, call.fence
  local line = 'D' .. fence .. ':' .. call.line

  if is_committed(id, item, line) then return answer_again(id) end
  local _, worker = read_lease(id, item)
  local job, refusal = accept_result(id, item, fence, line)
  if not job then return refusal end

  call.worker = worker
  commit_segment(job, call, line)
  return answer('ok')
end)

-- The segment of a whole job is done and its files are made: as `commit_segment` and `finish` of an assembly, in one.
-- call: as of `commit_segment`; artifacts and spoken_by (as JSON), warnings (of the files)
-- -> ok + is_finished | lost | aborted
-- Not finished is what a call has changed meanwhile, as a pause: then the segment alone is taken, and is assembled like
-- any other.
register('finish_whole', function(call)
  local id, item, fence, artifacts = call.job, call.item, call.fence, call.artifacts
  local line = 'D' .. fence .. ':' .. call.line

  local earlier = redis.call('HGET', K.job .. id, 'artifacts')
  if earlier == artifacts then return answer('ok', {is_finished = true}) end
  if is_committed(id, item, line) then
    local again = answer_again(id)
    again.is_finished = false
    return again
  end
  local job, verdict, worker = resolve(id, item, fence)
  if verdict ~= 'held' then return answer(verdict) end
  call.worker = worker
  local is_finished = not earlier and job.state == 'running' and job.total == 1
  if is_finished then gather_changes(job) end
  forget_lease(job, item, fence, worker)
  redis.call('HSET', K.results .. id, item, line)
  if not is_finished then
    commit_segment(job, call, line)
    return answer('ok', {is_finished = false})
  end

  redis.call('HDEL', K.tries .. id, 'rejected:' .. item)
  local result = count_segment(job, call, line)
  save(job, {phase = 'assembling'})
  tell_of_segment(job, call, result)
  save(job, {artifacts = artifacts, spoken_by = call.spoken_by})
  warn_all(job, call.warnings)
  tell_of_artifacts(job, cjson.decode(artifacts))
  give_back_admission(job)
  end_job(job, 'succeeded')
  write_changes(job)
  return answer('ok', {is_finished = true})
end)

-- call: job, item, fence, build_ms, window (the smallest)
-- -> ok | lost | aborted
register('commit_voice', function(call)
  local id, item, fence = call.job, call.item, call.fence
  local result = 'D' .. fence

  if redis.call('HGET', K.results .. id, item) == result then return answer_again(id) end
  local job, refusal = accept_result(id, item, fence, result)
  if not job then return refusal end

  save(job, {done = job.done + 1, engine_ms = job.engine_ms + call.build_ms, out_ms = job.out_ms + job.cost_ms})
  count_flow(job, 'out', job.cost_ms)
  count_usage(job, {engine_ms = call.build_ms})
  event(job, 'job.segment.completed', {segment = tonumber(item)})
  follow_voice(job, call.window)
  settle_voices(job)
  return answer('ok')
end)

-- call: job (the batch), item, fence, window (the smallest)
-- -> ok | lost | aborted
register('commit_shard', function(call)
  local id, item, fence = call.job, call.item, call.fence
  local result = 'D' .. fence

  if redis.call('HGET', K.results .. id, item) == result then return answer_again(id) end
  local job, refusal = accept_result(id, item, fence, result)
  if not job then return refusal end

  save(job, {done = job.done + 1})
  open_window(job, call.window)
  settle_batch(id)
  return answer('ok')
end)

-- call: job, fence, artifacts (as JSON)
-- -> ok | lost | aborted
-- The plan was all that was wanted: nothing is spoken, and no plan is left for a later run to go on with.
register('finish_plan', function(call)
  local id, fence, artifacts = call.job, call.fence, call.artifacts

  -- The key of the artifact holds the fence.
  if redis.call('HGET', K.job .. id, 'artifacts') == artifacts then return answer_again(id) end
  local job, refusal = accept_result(id, 'plan', fence, 'D' .. fence)
  if not job then return refusal end

  tell_of_artifacts(job, replace_artifacts(job, artifacts))
  succeed(job)
  return answer('ok')
end)

-- call: job, fence, artifacts and spoken_by (as JSON), warnings, earlier_codes (of those that an earlier assembly may
--       have left)
-- -> ok + record | lost | aborted
register('finish', function(call)
  local id, fence, artifacts = call.job, call.fence, call.artifacts

  -- The keys of artifacts hold the fence. The job may have been reopened since: its artifacts stay until the next ones.
  if redis.call('HGET', K.job .. id, 'artifacts') == artifacts then return answer_record(id) end
  local job, refusal = accept_result(id, 'assemble', fence, 'D' .. fence)
  if not job then return refusal end

  local created = replace_artifacts(job, artifacts)
  save(job, {spoken_by = call.spoken_by})
  for _, code in ipairs(call.earlier_codes) do forget_warnings(job, 'code', code) end
  warn_all(job, call.warnings)
  tell_of_artifacts(job, created)
  succeed(job)
  return answer_record(id)
end)
