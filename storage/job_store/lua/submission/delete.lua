-- ARGV: job, tenant, tombstone ttl s
-- -> ok; conflict + state; missing
local id, tenant = ARGV[1], ARGV[2]
local job = load_job(id)
if not job then
  -- A record that vanished some other way must not be due for ever.
  redis.call('ZREM', K.retention, tenant .. '|' .. id)
  return answer(redis.call('GET', K.tombstone .. id) == tenant and 'ok' or 'missing')
end
if job.tenant ~= tenant then return answer('missing') end
if not is_terminal(job) then return answer('conflict', job.state) end
add_stored(tenant, 'jobs', id, 0 - (tonumber(redis.call('HGET', K.job .. id, 'stored_bytes')) or 0))
redis.call('SET', K.tombstone .. id, tenant, 'EX', ARGV[3])
redis.call('DEL', K.job .. id, K.results .. id, K.tries .. id, K.events .. id, K.live .. id,
  K.takes .. id, K.edits .. id, K.children .. id)
redis.call('ZREM', K.retention, tenant .. '|' .. id)
redis.call('ZREM', K.jobs .. tenant, id)
redis.call('ZREM', K.batches .. tenant, id)
return answer('ok')
