-- ARGV: job, tenant, spec that the caller saw, spec from now on, limits, smallest window
-- -> ok + the record; conflict + state; changed; refused + see `refuse`; gone; missing
local id, tenant, seen, spec = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local job = load_job(id)
if not job or job.tenant ~= tenant then return answer('missing') end
if is_over(job) then return answer('gone') end
local present = redis.call('HGET', K.job .. id, 'spec')
if not is_terminal(job) and job.state ~= 'cancelling' and present == spec then
  -- It is under way already, as it should be: the call is a repeat.
  for _, queue in ipairs(queues_of(job)) do add_tickets(queue, redis.call('LLEN', ready_key(job, queue))) end
  return answer_job(job)
end
if not is_terminal(job) or job.state == 'succeeded' then return answer('conflict', job.state) end
if present ~= seen then return answer('changed') end
local left = job.estimated_audio_ms - job.done * job.cost_ms
local refusal = admission_refusal(tenant, left, 0, ARGV[5])
if refusal then return refusal end

save(job, {spec = spec})
reopen_job(job, undone_segments(job), 'retry', tonumber(ARGV[6]))
return answer_job(job)
