-- ARGV: queue, class, tenant, job or '' (of one that is not there yet)
-- -> ok + jobs served before it, pace (audio time per time), slots, expected audio ms of the whole queue, tenants and
--    jobs of the tenant that share its class with it, whether the other class has work, expected audio ms that came
--    before it and has not gone out
local queue, class, tenant, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local MOST_TENANTS = 1000 -- looked at, which bounds the time

local function line_of(name, who) return K.line .. name .. ':' .. class .. ':' .. who end

-- Whether the next claim goes to this tenant, which is in front; if not, its turn is over without anybody having noticed.
local function has_credit(name, who)
  local head = redis.call('LINDEX', line_of(name, who), 0)
  local cost = head and redis.call('HGET', K.job .. head, 'cost_ms')
  local credit = redis.call('HGET', K.deficit .. name .. ':' .. class, who)
  return (tonumber(credit) or 0) >= item_cost(name, tonumber(cost) or 0)
end

-- Tenants take turns, and so do the jobs of each: before the k-th job of its tenant, every other tenant has k turns,
-- and one more if its turn comes sooner.
local function served_before(name)
  local place = id ~= '' and redis.call('LPOS', line_of(name, tenant), id)
  if not place then return 0 end
  local before, is_ahead = place, true
  for i, other in ipairs(redis.call('LRANGE', K.tenants .. name .. ':' .. class, 0, MOST_TENANTS - 1)) do
    if other == tenant then
      is_ahead = false
    else
      local has_turn = is_ahead and (i > 1 or has_credit(name, other))
      before = before + math.min(redis.call('LLEN', line_of(name, other)), place + (has_turn and 1 or 0))
    end
  end
  return before
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
  if not job or (job.state ~= 'pending' and job.state ~= 'paused') or is_scheduled(job) then return 0 end
  local mark = tonumber(redis.call('HGET', K.job .. id, 'queue_mark_ms')) or 0
  return math.max(0, math.min(mark - went, came - went - job.estimated_audio_ms))
end

local came, went = flow_of(class)
local others_came, others_went = flow_of(other_class)
local backlog = came - went + others_came - others_went

local ring = K.tenants .. queue .. ':' .. class
return answer('ok',
  math.max(served_before('cpu'), served_before(queue)), string.format('%.6f', throughput(queue)), worker_slots(queue), text(backlog),
  length_with(ring, tenant), length_with(line_of(queue, tenant), id),
  redis.call('EXISTS', K.tenants .. queue .. ':' .. other_class), text(ahead_of(came, went)))
