-- ARGV: job, tenant, priority or '', deadline ms, 'none' or '', metadata as JSON or '', retention s or ''
-- -> ok + the record; conflict + state; missing
local id, tenant, priority, deadline, metadata, retention_s = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local job = load_job(id)
if not job or job.tenant ~= tenant then return answer('missing') end
if is_terminal(job) or job.state == 'cancelling' then return answer('conflict', job.state) end

if metadata ~= '' then save(job, {metadata = metadata}) end
if retention_s ~= '' then save(job, {retention_s = tonumber(retention_s)}) end
if deadline == 'none' then
  redis.call('HDEL', K.job .. id, 'deadline_ms')
  redis.call('ZREM', K.deadlines, id)
elseif deadline ~= '' then
  save(job, {deadline_ms = tonumber(deadline)})
  redis.call('ZADD', K.deadlines, deadline, id)
end
if priority ~= '' then
  save(job, {priority = priority})
  local class = class_for(job, job.estimated_audio_ms - job.out_ms)
  if class ~= job.class then change_class(job, class) end
end
return answer_job(job)
