-- ARGV: job, tenant
-- -> ok + the record; conflict + state; missing
-- The jobs of a batch are cancelled behind this, by `recall`: there may be a hundred thousand of them.
local id, tenant = ARGV[1], ARGV[2]
local job = load_job(id)
if not job or job.tenant ~= tenant then return answer('missing') end
if is_terminal(job) and job.state ~= 'cancelled' then return answer('conflict', job.state) end
if redis.call('EXISTS', K.children .. id) == 1 then redis.call('HSETNX', K.recalled, id, '') end
if not is_terminal(job) and job.state ~= 'cancelling' then cancel_job(job) end
return answer('ok', redis.call('HGETALL', K.job .. id))
