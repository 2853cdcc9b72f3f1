-- Where a job stands among those that wait, and the pace at which they are served.

local MOST_TENANTS = 1000 -- looked at, which bounds the time

local function class_key(family, queue, class) return family .. queue .. ':' .. class end

local function line_of(queue, class, tenant) return class_key(K.line, queue, class) .. ':' .. tenant end

-- Whether the next claim goes to this tenant, which is in front; if not, its turn is over without a claim having met it.
local function has_credit(queue, class, tenant)
  local head = redis.call('LINDEX', line_of(queue, class, tenant), 0)
  local cost = head and redis.call('HGET', K.job .. head, 'cost_ms')
  local credit = redis.call('HGET', class_key(K.deficit, queue, class), tenant)
  return (tonumber(credit) or 0) >= item_cost(queue, tonumber(cost) or 0)
end

-- Tenants take turns, and so do the jobs of each. Before the k-th job of its tenant, every other tenant has k turns,
-- and one more if its turn comes sooner.
local function served_before(call, queue)
  local place = call.job ~= '' and redis.call('LPOS', line_of(queue, call.class, call.tenant), call.job)
  if not place then return 0 end
  local before, is_ahead = place, true
  for i, other in ipairs(redis.call('LRANGE', class_key(K.tenants, queue, call.class), 0, MOST_TENANTS - 1)) do
    if other == call.tenant then
      is_ahead = false
    else
      local has_turn = is_ahead and (i > 1 or has_credit(queue, call.class, other))
      before = before + math.min(redis.call('LLEN', line_of(queue, call.class, other)), place + (has_turn and 1 or 0))
    end
  end
  return before
end

-- The line as long as it is once this entry stands in it.
local function length_with(key, entry)
  return redis.call('LLEN', key) + (redis.call('LPOS', key, entry) and 0 or 1)
end

-- What came and what has gone out of a class.
local function flow_of(queue, class)
  local came, went = unpack(redis.call('HMGET', K.flow, queue .. ':' .. class .. ':in', queue .. ':' .. class .. ':out'))
  return tonumber(came) or 0, tonumber(went) or 0
end

-- An estimate: rings serve tenants in turn, so work that came later may go first. 0 once the job runs.
local function ahead_of(id, came, went)
  local job = id ~= '' and load_job(id)
  if not job or (job.state ~= 'pending' and job.state ~= 'paused') or is_scheduled(job) then return 0 end
  local mark = tonumber(redis.call('HGET', K.job .. id, 'queue_mark_ms')) or 0
  return math.max(0, math.min(mark - went, came - went - job.estimated_audio_ms))
end

-- call: queue, class, tenant, job or '' (of one that is not there yet)
-- -> ok + position (jobs served before it), pace (audio time per time), slots, backlog_ms (expected audio of the whole
--    queue), tenants and jobs (of the tenant) that share its class with it, has_other_class (whether the other class has
--    work), ahead_ms (expected audio that came before it and has not gone out)
register_reader('queue_position', function(call)
  local queue, class = call.queue, call.class
  local other_class = class == 'bulk' and 'interactive' or 'bulk'
  local came, went = flow_of(queue, class)
  local others_came, others_went = flow_of(queue, other_class)
  return answer('ok', {
    position = math.max(served_before(call, 'cpu'), served_before(call, queue)),
    pace = batch_throughput(queue),
    slots = worker_slots(queue),
    backlog_ms = came - went + others_came - others_went,
    tenants = length_with(class_key(K.tenants, queue, class), call.tenant),
    jobs = length_with(line_of(queue, class, call.tenant), call.job),
    has_other_class = redis.call('EXISTS', class_key(K.tenants, queue, other_class)) == 1,
    ahead_ms = ahead_of(call.job, came, went),
  })
end)
