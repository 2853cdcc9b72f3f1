-- ARGV: job, tenant
-- -> ok + the record; conflict + state; missing
local id, tenant = ARGV[1], ARGV[2]
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
  return answer('conflict', job.state)
end
return answer('ok', redis.call('HGETALL', K.job .. id))
