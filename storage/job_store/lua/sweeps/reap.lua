-- ARGV: limit (of each kind), max attempts
-- -> ok + leases expired, retries due, jobs expired, jobs whose time has come
local limit, max_attempts = ARGV[1], tonumber(ARGV[2])

local function due(key)
  return redis.call('ZRANGEBYSCORE', key, '-inf', text(now), 'LIMIT', 0, limit)
end

-- Every entry met is gone afterwards, also one whose job has vanished: nothing may block the ones behind it.

local overdue = due(K.deadlines)
for _, id in ipairs(overdue) do
  local job = load_job(id)
  if job then expire_job(job) else redis.call('ZREM', K.deadlines, id) end
end

local leases = due(K.leases)
for _, name in ipairs(leases) do
  local id, item, fence = string.match(name, '^([^|]*)|([^|]*)|(%d+)$')
  release_item(id, item, fence, 'lease_expired', max_attempts)
  redis.call('ZREM', K.leases, name)
end

local retries = due(K.retries)
for _, name in ipairs(retries) do
  local id, item = string.match(name, '^([^|]*)|([^|]*)$')
  local job = load_job(id)
  if job then
    forget_retry(job, item)
    make_ready(job, item, 'LPUSH')
  else
    redis.call('ZREM', K.retries, name)
  end
end

local awake = due(K.scheduled)
for _, id in ipairs(awake) do
  local job = load_job(id)
  if job and is_scheduled(job) then release_scheduled(job) else redis.call('ZREM', K.scheduled, id) end
end
return answer('ok', #leases, #retries, #overdue, #awake)
