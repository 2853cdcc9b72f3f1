-- Items that are given up or go back: whose fault it is, dead letters, attempts.

local DEAD_KEPT = 10000

-- What a caller gave or asked for is theirs to mend. A request that no API refused and an engine does is ours.
local function is_callers_fault(job, item, code)
  return CALLERS_FAULTS[code] and not (code == 'invalid_request' and is_segment(item) and not is_voice_job(job))
end

-- For operators; what it says holds no text of the job.
local function dead_letter(job, item, failure)
  if is_callers_fault(job, item, failure.code) then return end
  redis.call('XADD', K.dead, 'MAXLEN', '~', DEAD_KEPT, '*', 'at_ms', text(now), 'job', job.id, 'tenant', job.tenant,
    'item', item, 'code', failure.code, 'detail', failure.detail, 'attempts', text((read_tries(job.id, item))))
end

-- The item is given up, and the job with it unless it is one voice of many. failure.code and failure.detail are set.
local function fail_item(job, item, fence, failure)
  redis.call('HSET', K.results .. job.id, item, 'X' .. fence)
  dead_letter(job, item, failure)
  if is_segment(item) then
    failure.segment = tonumber(item)
    save(job, {failed = job.failed + 1})
    event(job, 'job.segment.failed', failure)
  end
  if is_segment(item) and is_voice_job(job) then
    warn(job, {code = failure.code, detail = failure.detail, segment = failure.segment})
    -- At least one that is open; the next voice that succeeds opens the window as wide as it should be.
    follow_voice(job, 1)
    settle_voices(job)
  else
    finish_job(job, 'failed', failure)
  end
end

-- The item goes back without a result. reason is 'shutdown' or one that counts as a suspicion. Attempts are charged
-- only to an item that ran alone, because its neighbours in a batch are innocent. A suspect that still waited for the
-- others to leave did not cause the end of its worker.
local function release_item(job_id, item, fence, reason, max_attempts)
  local job, verdict, worker, is_alone = resolve(job_id, item, fence)
  if verdict ~= 'held' then return end
  forget_lease(job, item, fence, worker)
  local attempts, suspicions, last = read_tries(job_id, item)
  if reason == 'shutdown' or (suspicions >= QUARANTINE and not is_alone) then
    make_ready(job, item, 'LPUSH')
    return
  end
  if is_alone then attempts = attempts + 1 end
  write_tries(job_id, item, attempts, suspicions + 1, last)
  if attempts >= max_attempts then
    local detail = 'the worker was lost ' .. (suspicions + 1) .. ' times at this item, last: ' .. reason
    fail_item(job, item, fence, {code = 'worker_lost', detail = detail})
    return
  end
  save(job, {retries = job.retries + 1})
  make_ready(job, item, 'LPUSH')
end
