-- ARGV: job, tenant
-- -> ok + the record; conflict + state; missing
local id, tenant = ARGV[1], ARGV[2]
local job = load_job(id)
if not job or job.tenant ~= tenant then return answer('missing') end
if job.state ~= 'cancelling' and job.state ~= 'cancelled' then
  if is_terminal(job) then return answer('conflict', job.state) end
  if job.leased == 0 then
    finish_job(job, 'cancelled', {code = 'cancelled_by_user', detail = 'the job was cancelled'})
  else
    drop_unleased(job)
    redis.call('ZREM', K.deadlines, id)
    move(job, 'cancelling')
  end
end
return answer('ok', redis.call('HGETALL', K.job .. id))
