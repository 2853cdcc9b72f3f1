-- ARGV: id, tenant, idempotency key sha256 or '', fingerprint, estimated audio ms, class, deadline ms or '',
--       limits or '' for none, idempotency ttl s, queue, then field, value, ... of the record.
-- -> created | replayed + the record; mismatch; aborted (its batch has ended); refused + see `refuse`
local id, tenant, key, fingerprint = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local estimate, class, deadline = tonumber(ARGV[5]), ARGV[6], ARGV[7]
local FIRST_FIELD = 11

local function record_of(job_id)
  return redis.call('HGETALL', K.job .. job_id)
end

local function replay(job_id)
  local status = job_id == id and 'created' or 'replayed'
  add_tickets('cpu', redis.call('LLEN', K.ready .. 'cpu:' .. job_id))
  return answer(status, job_id, record_of(job_id))
end

local known_key = K.idempotency .. tenant .. ':' .. key
if key ~= '' then
  local known = redis.call('GET', known_key)
  if known then
    local job_id, seen = string.match(known, '^([^|]*)|(.*)$')
    if seen ~= fingerprint then return answer('mismatch') end
    return replay(job_id)
  end
end
local owner = redis.call('HGET', K.job .. id, 'tenant')
if owner and owner ~= tenant then return answer('mismatch') end
if owner then return replay(id) end

local function field(name)
  for i = FIRST_FIELD, #ARGV, 2 do
    if ARGV[i] == name then return ARGV[i + 1] end
  end
  return nil
end

local batch, parent = field('batch'), nil
if batch then
  parent = load_job(batch)
  if not parent or parent.tenant ~= tenant or is_terminal(parent) or parent.state == 'cancelling' then
    return answer('aborted')
  end
end

local refusal = ARGV[8] ~= '' and admission_refusal(tenant, estimate, tonumber(field('stored_bytes')) or 0, ARGV[8])
if refusal then return refusal end

redis.call('HSET', K.job .. id, 'id', id, 'tenant', tenant, 'state', 'pending', 'version', 1, 'class', class,
  'queue', ARGV[10], 'estimated_audio_ms', text(estimate), 'created_at_ms', text(now), unpack(ARGV, FIRST_FIELD))
-- What a batch makes is counted to the key that it came with.
if parent and parent.key_id then redis.call('HSET', K.job .. id, 'key_id', parent.key_id) end
-- An audit under way would not meet a job that came after its beginning.
if current_audit() then redis.call('HSET', K.job .. id, 'audit', current_audit()) end
local job = load_job(id)
count_admission(job, 1, estimate)
add_stored(tenant, 'jobs', id, tonumber(field('stored_bytes')) or 0)
if deadline ~= '' then
  redis.call('HSET', K.job .. id, 'deadline_ms', deadline)
  redis.call('ZADD', K.deadlines, deadline, id)
end
if key ~= '' then redis.call('SET', known_key, id .. '|' .. fingerprint, 'EX', ARGV[9]) end
redis.call('SADD', K.active, id)
redis.call('ZADD', (field('kind') == 'batch' and K.batches or K.jobs) .. tenant, 0, id)
if batch then redis.call('ZADD', K.children .. batch, 0, id) end
job = load_job(id)
local not_before = tonumber(field('not_before_ms')) or 0
if not_before > now then schedule(job, not_before) else join_queue(job) end
event(job, 'job.created')
return answer('created', id, record_of(id))
