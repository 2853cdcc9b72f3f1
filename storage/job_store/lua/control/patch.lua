-- ARGV: job, tenant, priority or '', deadline ms, 'none' or '', metadata as JSON or '', retention s or '',
--       time before which it may not start in ms, 'none' or ''
-- -> ok + the record; conflict + state; begun (its time has come already); late (it would start after its deadline);
--    missing
local id, tenant, priority, deadline, metadata, retention_s = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local not_before = ARGV[7]
local job = load_job(id)
if not job or job.tenant ~= tenant then return answer('missing') end
if is_terminal(job) or job.state == 'cancelling' then return answer('conflict', job.state) end
if not_before ~= '' and not is_scheduled(job) then return answer('begun') end

local function wanted(given, present)
  if given == 'none' then return 0 end
  return tonumber(given) or present
end

local starts = wanted(not_before, tonumber(redis.call('HGET', K.job .. id, 'not_before_ms')) or 0)
local ends = wanted(deadline, job.deadline_ms)
local is_time_given = not_before ~= '' or deadline ~= ''
if is_time_given and is_scheduled(job) and ends > 0 and ends <= starts then return answer('late') end

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
if not_before == 'none' then
  redis.call('HDEL', K.job .. id, 'not_before_ms')
elseif not_before ~= '' then
  redis.call('HSET', K.job .. id, 'not_before_ms', not_before)
  redis.call('ZADD', K.scheduled, not_before, id)
end
if not_before ~= '' and starts <= now then release_scheduled(job) end
return answer_job(job)
