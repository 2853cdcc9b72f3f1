-- ARGV: job, tenant, segment, number of the take, limits, smallest window
-- -> ok + the record; conflict + state; leased; unknown; refused + see `refuse`; gone; missing
-- Nothing is spoken: the take is in place at once, with the edit it was made from, and the job is assembled anew. A job
-- that ended without success is not reopened for it.
local id, tenant, item, number, window = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[6])
local job = load_job(id)
if not job or job.tenant ~= tenant then return answer('missing') end
if is_over(job) then return answer('gone') end
if job.state == 'cancelling' then return answer('conflict', job.state) end
if tonumber(item) >= job.total then return answer('unknown') end
if is_leased(job, item) then return answer('leased') end

local current, highest = take_of(id, item)
local was_done = is_done(job, item)
if was_done and current == tonumber(number) then return answer_job(job) end
local line = redis.call('HGET', K.takes .. id, filed(item, number))
if not line then return answer('unknown') end
local has_succeeded = job.state == 'succeeded'
local refusal = has_succeeded and admission_refusal(tenant, 0, 0, ARGV[5])
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
event(job, 'job.segment.selected', {segment = tonumber(item), take = tonumber(number)})
if has_succeeded then
  reopen_job(job, {}, 'take', window)
elseif not is_terminal(job) then
  if not was_done then count_reopened(job, -1) end
  if job.done == job.total then assemble_anew(job) else open_window(job, window) end
end
return answer_job(job)
