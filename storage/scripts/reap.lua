-- ARGV: limit (of each kind), max attempts
-- -> ok + leases expired, retries due, jobs expired
local limit, max_attempts = ARGV[1], tonumber(ARGV[2])

local function due(key)
  return redis.call('ZRANGEBYSCORE', key, '-inf', text(now), 'LIMIT', 0, limit)
end

local overdue = due(K.deadlines)
for _, id in ipairs(overdue) do expire_job(load_job(id)) end

local leases = due(K.leases)
for _, name in ipairs(leases) do
  local id, item, fence = string.match(name, '^([^|]*)|([^|]*)|(%d+)$')
  release_item(id, item, fence, 'lease_expired', max_attempts)
end

local retries = due(K.retries)
for _, name in ipairs(retries) do
  local id, item = string.match(name, '^([^|]*)|([^|]*)$')
  -- The sweep above may have ended the job, and with it this entry.
  if redis.call('ZREM', K.retries, name) == 1 then
    redis.call('HDEL', K.live .. id, item)
    make_ready(load_job(id), item, 'LPUSH')
  end
end
return answer('ok', #leases, #retries, #overdue)
