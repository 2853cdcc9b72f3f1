-- ARGV: job, tenant
-- -> ok + the record; conflict + state; missing
local id, tenant = ARGV[1], ARGV[2]
local job = load_job(id)
if not job or job.tenant ~= tenant then return answer('missing') end
if job.state ~= 'paused' then
  if not MOVES[job.state].paused then return answer('conflict', job.state) end
  for _, queue in ipairs(queues_of(job)) do
    if close_queue(job, queue) > 0 then redis.call('RENAME', ready_key(job, queue), parked_key(job, queue)) end
  end
  move(job, 'paused')
  event(job, 'job.paused')
end
return answer('ok', redis.call('HGETALL', K.job .. id))
