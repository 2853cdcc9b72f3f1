-- ARGV: queue, class, tenant, job or '' (of one that is not there yet)
-- -> ok + jobs served before it, pace (audio time per time), slots, expected audio ms of the whole queue, tenants and
--    jobs of the tenant that share its class with it, whether the other class has work, expected audio ms that came
--    before it and has not gone out
local queue, class, tenant, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local MOST_TENANTS = 1000 -- looked at, which bounds the time

-- Tenants take turns, and so do the jobs of each: before the k-th job of its tenant, every other tenant has k turns,
-- and one more if its turn comes sooner.
local function served_before(ring, line_of)
  local place = id ~= '' and redis.call('LPOS', line_of(tenant), id)
  if not place then return 0 end
  local before, is_ahead = place, true
  for _, other in ipairs(redis.call('LRANGE', ring, 0, MOST_TENANTS - 1)) do
    if other == tenant then
      is_ahead = false
    else
      before = before + math.min(redis.call('LLEN', line_of(other)), place + (is_ahead and 1 or 0))
    end
  end
  return before
end

local function place_in(name)
  return served_before(K.tenants .. name .. ':' .. class, function(who) return K.line .. name .. ':' .. class .. ':' .. who end)
end

-- The line as long as it is once this job stands in it.
local function length_with(key, entry)
  return redis.call('LLEN', key) + (redis.call('LPOS', key, entry) and 0 or 1)
end

local other_class = class == 'bulk' and 'interactive' or 'bulk'

-- What came and what has gone out of a class.
local function flow_of(name)
  local came, went = unpack(redis.call('HMGET', K.flow, queue .. ':' .. name .. ':in', queue .. ':' .. name .. ':out'))
  return tonumber(came) or 0, tonumber(went) or 0
end

-- An estimate: rings serve tenants in turn, so work that came later may go first. 0 once the job runs.
local function ahead_of(came, went)
  if id == '' then return 0 end
  local job = load_job(id)
  if not job or (job.state ~= 'pending' and job.state ~= 'paused') then return 0 end
  local mark = tonumber(redis.call('HGET', K.job .. id, 'queue_mark_ms')) or 0
  return math.max(0, math.min(mark - went, came - went - job.estimated_audio_ms))
end

local came, went = flow_of(class)
local others_came, others_went = flow_of(other_class)
local backlog = came - went + others_came - others_went

local ring = K.tenants .. queue .. ':' .. class
return answer('ok',
  math.max(place_in('cpu'), place_in(queue)), string.format('%.6f', drain_rate(queue)), fleet_slots(queue), text(backlog),
  length_with(ring, tenant), length_with(K.line .. queue .. ':' .. class .. ':' .. tenant, id),
  redis.call('EXISTS', K.tenants .. queue .. ':' .. other_class), text(ahead_of(came, went)))
