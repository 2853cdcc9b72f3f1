-- ARGV: job, tenant, bytes that its objects really take
-- -> ok + how many more or fewer than were counted; unsettled (it is at work, or not there)
local id, tenant, bytes = ARGV[1], ARGV[2], tonumber(ARGV[3])
local job = load_job(id)
if not job or job.tenant ~= tenant or not is_terminal(job) then return answer('unsettled') end
local change = bytes - (tonumber(redis.call('HGET', K.job .. id, 'stored_bytes')) or 0)
count_stored(job, change)
return answer('ok', text(change))
