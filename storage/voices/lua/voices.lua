-- Voices: their records, names and recordings.

-- call: voice, tenant, name (its key), most_voices, fields (of the record)
-- -> created + record; taken + voice (that has the name); refused + see `refuse`
register('voice_create', function(call)
  local id, tenant, name = call.voice, call.tenant, call.name

  -- A repeated call: ids are drawn once.
  if is_owner(tenant, id) then return {status = 'created', record = voice_record(id)} end
  local holder = redis.call('HGET', V.names .. tenant, name)
  if holder then return {status = 'taken', voice = holder} end
  local voices, most_voices = redis.call('ZCARD', V.voices .. tenant), limit_of(tenant, 'voices', call.most_voices)
  if voices >= most_voices then
    enqueue_quota_event(tenant, 'voices', voices, most_voices)
    return refuse('tenant_voices', voices, most_voices)
  end
  redis.call('HSET', V.voice .. id, 'id', id, 'tenant', tenant, 'revision', 1, 'name_key', name,
    'created_at_ms', text(now), 'updated_at_ms', text(now))
  write_hash(V.voice .. id, call.fields)
  redis.call('HSET', V.names .. tenant, name, id)
  redis.call('ZADD', V.voices .. tenant, 0, id)
  enqueue_voice_event('voice.created', tenant, id)
  return {status = 'created', record = voice_record(id)}
end)

-- call: voice, tenant, name (its key, or ''), fields (of the record)
-- -> ok + record; missing; taken + voice (that has the name)
register('voice_update', function(call)
  local id, tenant, name = call.voice, call.tenant, call.name

  if not is_owner(tenant, id) then return {status = 'missing'} end
  local old = redis.call('HGET', V.voice .. id, 'name_key')
  if name ~= '' and name ~= old then
    local holder = redis.call('HGET', V.names .. tenant, name)
    if holder then return {status = 'taken', voice = holder} end
    redis.call('HDEL', V.names .. tenant, old)
    redis.call('HSET', V.names .. tenant, name, id)
    redis.call('HSET', V.voice .. id, 'name_key', name)
  end
  redis.call('HSET', V.voice .. id, 'updated_at_ms', text(now))
  write_hash(V.voice .. id, call.fields)
  return {status = 'ok', record = voice_record(id)}
end)

-- call: voice, tenant, revision (that is replaced), source (key of the new one), fields (of the record)
-- -> ok + record; missing; moved + revision (it has)
-- What was built from the old recording goes with it: no cache of an old revision is ever served.
register('voice_replace', function(call)
  local id, tenant, revision, source = call.voice, call.tenant, call.revision, call.source

  if not is_owner(tenant, id) then return {status = 'missing'} end
  local current, old = unpack(redis.call('HMGET', V.voice .. id, 'revision', 'source_key'))
  if old == source then return {status = 'ok', record = voice_record(id)} end
  if tonumber(current) ~= revision then return {status = 'moved', revision = current} end
  drop_caches(tenant, id, READING_MS)
  discard('k|' .. old, READING_MS)
  redis.call('HDEL', V.voice .. id, 'consent')
  redis.call('HSET', V.voice .. id, 'revision', text(revision + 1), 'source_key', source,
    'updated_at_ms', text(now))
  write_hash(V.voice .. id, call.fields)
  return {status = 'ok', record = voice_record(id)}
end)

-- call: voice, tenant, tombstone_ttl_s
-- -> ok; missing
register('voice_delete', function(call)
  local id, tenant = call.voice, call.tenant

  if not is_owner(tenant, id) then
    return {status = redis.call('GET', V.gone .. id) == tenant and 'ok' or 'missing'}
  end
  local name, source = unpack(redis.call('HMGET', V.voice .. id, 'name_key', 'source_key'))
  redis.call('SET', V.gone .. id, tenant, 'EX', call.tombstone_ttl_s)
  enqueue_voice_event('voice.deleted', tenant, id)
  drop_caches(tenant, id, 0)
  discard('k|' .. source, 0)
  redis.call('HDEL', V.names .. tenant, name)
  redis.call('ZREM', V.voices .. tenant, id)
  redis.call('DEL', V.voice .. id)
  return {status = 'ok'}
end)
