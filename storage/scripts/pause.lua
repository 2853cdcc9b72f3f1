-- ARGV: job, tenant
-- -> ok + the record; conflict + state; missing
local id, tenant = ARGV[1], ARGV[2]
local job = load_job(id)
if not job or job.tenant ~= tenant then return answer('missing') end
if job.state ~= 'paused' then
  if not MOVES[job.state].paused then return answer('conflict', job.state) end
  for _, lane in ipairs({'cpu', 'gpu'}) do
    if close_lane(job, lane) > 0 then
      redis.call('RENAME', K.ready .. lane .. ':' .. id, K.parked .. lane .. ':' .. id)
    end
  end
  move(job, 'paused')
  event(job, 'job.paused')
end
return answer('ok', redis.call('HGETALL', K.job .. id))
