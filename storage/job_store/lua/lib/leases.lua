-- Leases. live[item] = L<fence>|<worker name>, mirrored in K.leases (expiry) and K.worker (boot_id); A instead of L
-- once the item runs alone.

local function lease_name(job_id, item, fence) return job_id .. '|' .. item .. '|' .. fence end

local function read_lease(job_id, item)
  local value = redis.call('HGET', K.live .. job_id, item)
  if not value then return nil end
  local kind, fence, worker = string.match(value, '^([LA])(%d+)|(.*)$')
  return fence, worker, kind == 'A'
end

-- Waiting for a time, and some items for a place that may be free before it.

local MOST_PASSED = 100

local function wait_for_retry(job, item, delay_ms)
  redis.call('HSET', K.live .. job.id, item, 'W')
  redis.call('ZADD', K.retries, text(now + delay_ms), job.id .. '|' .. item)
  tally(job, 'retries:', 1)
end

-- A place is free: the first that waits in this set may have it. The set holds items, or jobs whose plans wait.
-- -> its job, or nil if none waits
local function admit_first(key)
  for _ = 1, MOST_PASSED do
    local name = redis.call('ZPOPMIN', key)[1]
    if not name then return nil end
    local id, item = string.match(name, '^([^|]*)|?(.*)$')
    if item == '' then item = 'plan' end
    local job = redis.call('ZSCORE', K.retries, id .. '|' .. item) and load_job(id)
    if job then
      forget_retry(job, item)
      make_ready(job, item, 'LPUSH')
      if job.state ~= 'paused' then return id end
    end
  end
  return nil
end

-- Reading. What is long, or a document, may take seconds until it is planned; such jobs are `bulky`. A tenant has at most
-- half of the places of the workers that plan for them, so that one tenant's documents do not keep all others waiting. What
-- is over that waits in K.unread for one of the tenant's to be read, and like any retry for its next look, should none
-- call it.

local READ_AGAIN_MS = 60000

local function is_reading(job, item) return item == 'plan' and job.bulky == '1' end

local function reading_places()
  local places = worker_slots('cpu')
  if places == 0 then return math.huge end -- no worker has said how many there are
  return math.max(1, math.floor(places / 2))
end

-- Leases that were lost in an older copy of the database are forgotten here.
local function count_reading(tenant)
  local count = 0
  for _, name in ipairs(redis.call('SMEMBERS', K.reading .. tenant)) do
    local id, item, fence = string.match(name, '^([^|]*)|([^|]*)|(%d+)$')
    if read_lease(id, item) == fence then count = count + 1 else redis.call('SREM', K.reading .. tenant, name) end
  end
  return count
end

local function has_reading_place(job) return count_reading(job.tenant) < reading_places() end

-- The job's plan, which no queue holds any more.
local function await_reading_place(job)
  wait_for_retry(job, 'plan', READ_AGAIN_MS)
  redis.call('ZADD', K.unread .. job.tenant, text(now), job.id)
end

-- One of the tenant's has been read, or is not read any more.
local function end_reading(tenant, name)
  redis.call('SREM', K.reading .. tenant, name)
  admit_first(K.unread .. tenant)
end

local function forget_lease(job, item, fence, worker)
  local name = lease_name(job.id, item, fence)
  redis.call('ZREM', K.leases, name)
  redis.call('HDEL', K.worker .. worker, name)
  redis.call('HDEL', K.live .. job.id, item)
  tally(job, 'leases:', -1)
  save(job, {leased = job.leased - 1})
  if is_reading(job, item) then end_reading(job.tenant, name) end
end

-- Tries. tries[item] = attempts:suspicions:fence, for items that went back at least once.

local function read_tries(job_id, item)
  local value, rejected = unpack(redis.call('HMGET', K.tries .. job_id, item, 'rejected_attempts:' .. item))
  local attempts, suspicions, fence = string.match(value or '0:0:', '^(%d+):(%d+):(%d*)$')
  return tonumber(attempts), tonumber(suspicions), fence, rejected or '0'
end

local function write_tries(job_id, item, attempts, suspicions, fence)
  redis.call('HSET', K.tries .. job_id, item, attempts .. ':' .. suspicions .. ':' .. fence)
end
