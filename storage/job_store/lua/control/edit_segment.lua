-- ARGV: job, tenant, segment, edit that the caller saw, edit from now on, spec that the caller saw, spec from now on,
--       most takes, key sha256 or '', fingerprint, key ttl s, limits, smallest window
-- -> ok + the record; conflict + state; changed; leased; unknown; full; mismatch; refused + see `refuse`;
--    gone; missing
-- A segment that is done is made anew from the edit, as its next take. A job that has succeeded is reopened for it; one
-- that ended otherwise keeps the edit until it is retried.
local id, tenant, item, window = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[13])
local job = load_job(id)
if not job or job.tenant ~= tenant then return answer('missing') end
if is_over(job) then return answer('gone') end
local replay = replay_of(job, ARGV[9], ARGV[10])
if replay then return replay end
if job.state == 'cancelling' then return answer('conflict', job.state) end
if tonumber(item) >= job.total then return answer('unknown') end
if edit_of(job, item) ~= ARGV[4] or redis.call('HGET', K.job .. id, 'spec') ~= ARGV[6] then return answer('changed') end
if is_leased(job, item) then return answer('leased') end

local current, highest = take_of(id, item)
local was_done, has_succeeded, number = is_done(job, item), job.state == 'succeeded', current
if was_done then
  if highest >= tonumber(ARGV[8]) then return answer('full') end
  local refusal = has_succeeded and admission_refusal(tenant, job.cost_ms, 0, ARGV[12])
  if refusal then return refusal end
  file_take(job, item, current)
  number = highest + 1
  redis.call('HSET', K.takes .. id, item, number .. ':' .. number)
elseif is_failed(job, item) then
  forget_failure(job, item)
end
set_or_clear(K.edits .. id, item, ARGV[5])
redis.call('HDEL', K.tries .. id, item)
save(job, {spec = ARGV[7]})
remember_call(job, ARGV[9], ARGV[10], ARGV[11])
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
return answer_job(job)
