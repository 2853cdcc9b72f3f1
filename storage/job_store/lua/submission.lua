-- Submission, queue position and removal of a job.

local function replayed(call, id)
  add_tickets('cpu', redis.call('LLEN', K.ready .. 'cpu:' .. id))
  if call.queue ~= 'cpu' then add_tickets(call.queue, redis.call('LLEN', K.ready .. call.queue .. ':' .. id)) end
  return answer(id == call.job and 'created' or 'replayed', {job = id, record = hash_at(K.job .. id)})
end

-- The answer to a call that was made before, or whose id or key another has; nil for a new one.
local function earlier_answer(call)
  local known = call.key and redis.call('GET', K.idempotency .. call.tenant .. ':' .. call.key)
  if known then
    local id, seen = string.match(known, '^([^|]*)|(.*)$')
    if seen ~= call.fingerprint then return answer('mismatch') end
    return replayed(call, id)
  end
  local owner = redis.call('HGET', K.job .. call.job, 'tenant')
  if not owner then return nil end
  if owner ~= call.tenant then return answer('mismatch') end
  return replayed(call, call.job)
end

-- The batch that makes this job, and whether it still may; nil and true where none does.
local function parent_of(call)
  local batch = call.fields.batch
  if not batch then return nil, true end
  local parent = load_job(batch)
  return parent, parent and parent.tenant == call.tenant and not is_terminal(parent) and parent.state ~= 'cancelling'
end

local function write_record(call, parent)
  local fields = call.fields
  fields.id, fields.tenant, fields.state, fields.version = call.job, call.tenant, 'pending', 1
  fields.class, fields.queue = call.class, call.queue
  fields.estimated_audio_ms, fields.created_at_ms = text(call.estimated_audio_ms), text(call.created_at_ms or now)
  if call.deadline_ms then fields.deadline_ms = text(call.deadline_ms) end
  -- What a batch makes is counted to the key that it came with.
  if parent and parent.key_id then fields.key_id = parent.key_id end
  -- An audit under way would not meet a job that came after its beginning.
  if current_audit() then fields.audit = current_audit() end
  write_hash(K.job .. call.job, fields)
end

local function list_job(call)
  local id, tenant, fields = call.job, call.tenant, call.fields
  if call.deadline_ms then redis.call('ZADD', K.deadlines, text(call.deadline_ms), id) end
  if call.key then
    redis.call('SET', K.idempotency .. tenant .. ':' .. call.key, id .. '|' .. call.fingerprint, 'EX', call.key_ttl_s)
  end
  redis.call('SADD', K.active, id)
  redis.call('ZADD', (fields.kind == 'batch' and K.batches or K.jobs) .. tenant, 0, id)
  if fields.batch then redis.call('ZADD', K.children .. fields.batch, 0, id) end
end

-- call: job, tenant, estimated_audio_ms, class, queue, fields (of the record); of an idempotency key its sha256 (key),
--       fingerprint and key_ttl_s; deadline_ms, limits (see `admission_refusal`), created_at_ms (of a job that is
--       restored), each only if there is one
-- -> created | replayed + job, record; mismatch; aborted (its batch has ended); refused + see `refuse`
register('submit', function(call)
  local earlier = earlier_answer(call)
  if earlier then return earlier end
  local parent, may_come = parent_of(call)
  if not may_come then return answer('aborted') end
  local refusal = call.limits and admission_refusal(call.tenant, call.estimated_audio_ms, call.limits)
  if refusal then return refusal end

  write_record(call, parent)
  list_job(call)
  local job = load_job(call.job)
  count_admission(job, 1, call.estimated_audio_ms)
  local not_before = tonumber(call.fields.not_before_ms) or 0
  if not_before > now then schedule(job, not_before) else join_queue(job) end
  event(job, 'job.created')
  return answer('created', {job = call.job, record = hash_at(K.job .. call.job)})
end)

-- call: job, tenant, tombstone_ttl_s
-- -> ok; conflict + state; missing
register('delete', function(call)
  local id, tenant = call.job, call.tenant
  local job = load_job(id)
  if not job then
    -- A record that vanished some other way must not stay due.
    redis.call('ZREM', K.retention, tenant .. '|' .. id)
    return answer(redis.call('GET', K.tombstone .. id) == tenant and 'ok' or 'missing')
  end
  if job.tenant ~= tenant then return answer('missing') end
  if not is_terminal(job) then return answer('conflict', {state = job.state}) end
  redis.call('SET', K.tombstone .. id, tenant, 'EX', call.tombstone_ttl_s)
  redis.call('DEL', K.job .. id, K.results .. id, K.tries .. id, K.events .. id, K.live .. id,
    K.takes .. id, K.edits .. id, K.children .. id)
  redis.call('ZREM', K.retention, tenant .. '|' .. id)
  redis.call('ZREM', K.jobs .. tenant, id)
  redis.call('ZREM', K.batches .. tenant, id)
  return answer('ok')
end)
