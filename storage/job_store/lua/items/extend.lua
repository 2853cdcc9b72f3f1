-- ARGV: lease ms, then job, item, fence for each lease
-- -> ok + held | lost | aborted for each
local until_ms = text(now + tonumber(ARGV[1]))
local statuses = {}
for i = 2, #ARGV, 3 do
  local job, item, fence = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local _, verdict = resolve(job, item, fence)
  if verdict == 'held' then redis.call('ZADD', K.leases, 'XX', until_ms, lease_name(job, item, fence)) end
  statuses[#statuses + 1] = verdict
end
return answer('ok', unpack(statuses))
