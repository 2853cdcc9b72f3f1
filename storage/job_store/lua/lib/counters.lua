-- Counters. Each is the sum of what every unfinished job contributes, and changes only here. An audit that has looked
-- at a job already (its `audit` is the audit's epoch) follows what happens to the job from then on.

local function current_audit()
  if audit_epoch == nil then audit_epoch = redis.call('HGET', K.audit, 'epoch') end
  return audit_epoch
end

local function tally(job, name, change)
  if job.audit and job.audit == current_audit() then redis.call('HINCRBY', K.audit, name, text(change)) end
end

-- -> how many of the queue are ready now
local function count_ready(job, queue, change)
  local count = redis.call('HINCRBY', K.counters, queue, text(change))
  if count == 0 then redis.call('HDEL', K.counters, queue) end
  tally(job, 'ready:' .. queue, change)
  return count
end

local function count_flow(job, direction, change)
  tally(job, 'flow:' .. job.queue .. ':' .. job.class, direction == 'in' and change or 0 - change)
  return redis.call('HINCRBY', K.flow, job.queue .. ':' .. job.class .. ':' .. direction, text(change))
end

local EVERYBODY = '*' -- no tenant's name
local ENDS_TAU_MS = 60000 -- time constant of the measured pace of ends, in time with work
local ENDS_KEPT_S = 600

-- The pace at which jobs end: what they gave back by the time that took, both fading. Time without any job does not
-- count: it restarts with the first.
local function count_end(scope, held_key, audio_ms)
  local key = K.ends .. scope
  local jobs, audio, spent, at = unpack(redis.call('HMGET', key, 'jobs', 'audio_ms', 'spent_ms', 'at_ms'))
  local passed = math.max(0, now - (tonumber(at) or now))
  -- Until the first end, all that began together have come as far: the others follow at once, not after as long again.
  if not jobs then passed = passed / ((tonumber(redis.call('HGET', held_key, 'jobs')) or 0) + 1) end
  local kept = math.exp(0 - passed / ENDS_TAU_MS)
  redis.call('HSET', key, 'at_ms', text(now), 'jobs', string.format('%.6f', (jobs or 0) * kept + 1),
    'audio_ms', string.format('%.3f', (audio or 0) * kept + audio_ms),
    'spent_ms', string.format('%.3f', (spent or 0) * kept + passed))
  redis.call('EXPIRE', key, ENDS_KEPT_S)
end

local function begin_ends(scope)
  redis.call('HSET', K.ends .. scope, 'at_ms', text(now))
  redis.call('EXPIRE', K.ends .. scope, ENDS_KEPT_S)
end

-- -> how many jobs the tenant has now
local function count_admission(job, jobs, audio_ms)
  local of_tenant
  for scope, key in pairs({[job.tenant] = K.admission .. job.tenant, [EVERYBODY] = K.total}) do
    local held = redis.call('HINCRBY', key, 'jobs', text(jobs))
    redis.call('HINCRBY', key, 'audio_ms', text(audio_ms))
    if jobs > 0 and held == jobs then begin_ends(scope) end
    if scope == job.tenant then of_tenant = held end
  end
  for _, scope in ipairs({'tenant:' .. job.tenant, 'total'}) do
    tally(job, 'jobs:' .. scope, jobs)
    tally(job, 'audio_ms:' .. scope, audio_ms)
  end
  return of_tenant
end

-- Usage: what was made, by the day (UTC) of its commit and the key that its job was submitted with. A commit is counted
-- in the script that makes it one, so neither a lost worker nor a repeated call counts twice.

local DAY_MS = 86400000

-- counts: name -> number
local function count_usage(job, counts)
  local day = K.usage .. job.tenant .. ':' .. text(math.floor(now / DAY_MS))
  for name, number in pairs(counts) do
    if number > 0 then redis.call('HINCRBY', day, (job.key_id or '') .. ':' .. name, text(number)) end
  end
  if redis.call('TTL', day) == -1 then redis.call('EXPIRE', day, USAGE_KEPT_S) end
end

-- `artifacts` (JSON) take the place of those that an earlier run made. Objects of earlier ones that are not among them
-- are deleted behind this. Returns those that were not there before.
local function replace_artifacts(job, artifacts)
  local known, created = {}, {}
  local earlier = redis.call('HGET', K.job .. job.id, 'artifacts')
  for _, each in ipairs(earlier and cjson.decode(earlier) or {}) do
    known[each.key] = true
  end
  for _, each in ipairs(cjson.decode(artifacts)) do
    if not known[each.key] then created[#created + 1] = each end
  end
  save(job, {artifacts = artifacts})
  return created
end
