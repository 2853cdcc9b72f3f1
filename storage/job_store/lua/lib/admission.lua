-- Admission: what all limits together still let in.

local SHORTEST_WAIT_MS, LONGEST_WAIT_MS = 1000, 300000

-- The answer of a refusal: the limit, what is held of it, how much may be, and in how many seconds there will probably be
-- room; '' where waiting is of no use.
local function refuse(limit, held, most, wait_ms)
  local wait = ''
  if wait_ms then
    wait = string.format('%.3f', math.min(LONGEST_WAIT_MS, math.max(SHORTEST_WAIT_MS, wait_ms)) / 1000)
  end
  return answer('refused', {limit = limit, held = text(held), most = text(most), wait_s = wait})
end

-- How long until `needed` of what jobs hold ('jobs' or 'audio_ms') has been given back, at the pace of the last ends; by
-- the workers' pace while none has ended yet. nil if neither is known.
local function wait_for(scope, name, needed, needed_audio_ms)
  local jobs, ended, spent, at = unpack(redis.call('HMGET', K.ends .. scope, 'jobs', name, 'spent_ms', 'at_ms'))
  ended, spent = tonumber(ended) or 0, tonumber(spent) or 0
  if ended == 0 or spent == 0 then
    local rate = total_throughput()
    return rate > 0 and needed_audio_ms / rate or nil
  end
  -- It is given back by whole jobs, so on average half a one more than is needed.
  if name ~= 'jobs' then needed = needed + ended / jobs / 2 end
  local since = math.max(0, now - tonumber(at))
  local wait = needed / ended * spent
  -- The ends have become slower than they were.
  if since > wait then wait = needed / ended * (spent + since) end
  return math.max(wait - since, wait / 2)
end

-- what: 'jobs' or 'audio_ms'
local function refuse_held(scope, what, held, most, wait_ms)
  if scope == EVERYBODY then return refuse('total_' .. what, held, most, wait_ms) end
  enqueue_quota_event(scope, what, held, most)
  return refuse('tenant_' .. what, held, most, wait_ms)
end

local function check_admission(scope, held_key, audio_ms, max_jobs, max_audio)
  local held = redis.call('HMGET', held_key, 'jobs', 'audio_ms')
  local jobs, audio = tonumber(held[1]) or 0, tonumber(held[2]) or 0
  if jobs + 1 > max_jobs then
    local wait = jobs > 0 and (wait_for(scope, 'jobs', jobs + 1 - max_jobs, audio / jobs) or LONGEST_WAIT_MS)
    return refuse_held(scope, 'jobs', jobs, max_jobs, wait)
  end
  local excess = audio + audio_ms - max_audio
  if excess > 0 then
    -- What is more than the whole room never fits.
    local wait = audio_ms <= max_audio and (wait_for(scope, 'audio_ms', excess, excess) or LONGEST_WAIT_MS)
    return refuse_held(scope, 'audio_ms', audio, max_audio, wait)
  end
  return nil
end

-- The answer that refuses one more job of so much audio, or nil. limits: tenant_jobs, tenant_audio_ms, total_jobs and
-- total_audio_ms; what is left out is not limited.
local function admission_refusal(tenant, audio_ms, limits)
  local refusal = check_admission(tenant, K.admission .. tenant, audio_ms, limit_of(tenant, 'jobs', limits.tenant_jobs),
    limit_of(tenant, 'audio_ms', limits.tenant_audio_ms))
  if refusal then return refusal end
  return check_admission(EVERYBODY, K.total, audio_ms, limits.total_jobs or math.huge,
    limits.total_audio_ms or math.huge)
end
