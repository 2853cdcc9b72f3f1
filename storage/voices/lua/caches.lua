-- Caches of voices are asked for, built, served and forgotten.

-- call: tenant, job, rebuild, caches (content, voice, revision, mode, model, model_revision of each)
-- -> ok + states: of each, or missing (no such voice), moved (another revision), ended (the job is not under way)
register('voice_cache_request', function(call)
  local tenant, job, rebuild = call.tenant, call.job, call.rebuild
  local run = redis.call('HGET', K.job .. job, 'run') or '' -- a retried job asks again

  local function start(build)
    save_build(build, {state = 'pending', job = job, run = run, requested_at_ms = now, attempts = 0})
    redis.call('HDEL', V.build .. build.content, 'error', 'rejected')
  end

  local function ask(build)
    settle_build(build)
    -- Asked before by this very run of the job: what became of it since stays.
    if build.job == job and build.run == run then return end
    if build.state == 'pending' or build.state == 'processing' then
      -- Shared: it is pending for as long as the last that wants it is under way.
      save_build(build, {job = job, run = run})
    elseif build.state == 'failed' or rebuild then
      start(build)
    end
  end

  local function request(wanted)
    local content, voice = wanted.content, wanted.voice
    local owner, current = unpack(redis.call('HMGET', V.voice .. voice, 'tenant', 'revision'))
    if owner ~= tenant then return 'missing' end
    if tonumber(current) ~= wanted.revision then return 'moved' end
    local field = wanted.mode .. '|' .. wanted.model
    local name = cache_name(voice, field)
    local known = redis.call('HGET', V.caches .. voice, field)
    if known and known ~= content then leave_build(known, name, READING_MS) end
    redis.call('HSET', V.caches .. voice, field, content)
    redis.call('ZADD', V.cache_list .. tenant, 0, name)
    redis.call('SADD', V.users .. content, name)
    local build = load_build(content)
    if not build then
      build = {content = content, version = 0}
      redis.call('HSET', V.build .. content, 'tenant', tenant, 'mode', wanted.mode, 'model', wanted.model,
        'model_revision', wanted.model_revision)
      start(build)
    else
      ask(build)
      -- Another voice has the same content, and its cache serves this one at once.
      if known ~= content and build.state == 'ready' then
        enqueue_cache_event(build, name, 'voice.cache.ready', text(build.version))
      end
    end
    return build.state
  end

  local states = {}
  local is_wanted = is_under_way(job)
  for i, wanted in ipairs(call.caches) do states[i] = is_wanted and request(wanted) or 'ended' end
  return {status = 'ok', states = states}
end)

-- call: tenant, voice, caches (mode|model of each; none: all of them)
-- -> ok + count (how many there were); missing
register('voice_cache_forget', function(call)
  local tenant, voice = call.tenant, call.voice

  if not is_owner(tenant, voice) then return {status = 'missing'} end
  local fields = call.caches
  if #fields == 0 then fields = redis.call('HKEYS', V.caches .. voice) end
  local count = 0
  for _, field in ipairs(fields) do count = count + drop_cache(tenant, voice, field, READING_MS) end
  return {status = 'ok', count = count}
end)

-- call: tenant, names (voice|mode|model of each cache)
-- -> ok + caches: of each that there is its name, content, record
register('voice_cache_read', function(call)
  local tenant = call.tenant
  local rows = {}
  for _, name in ipairs(call.names) do
    local voice, field = string.match(name, '^([^|]*)|(.*)$')
    local content = redis.call('HGET', V.caches .. voice, field)
    local build = content and load_build(content)
    if build and build.tenant == tenant then
      settle_build(build)
      rows[#rows + 1] = {name = name, content = content, record = hash_at(V.build .. content)}
    end
  end
  return {status = 'ok', caches = rows}
end)

-- call: content, lease (job|item|fence)
-- -> build; ready + version, sha256, bytes; busy; failed + error; unknown
register('voice_build_claim', function(call)
  local content, lease = call.content, call.lease
  local build = load_build(content)
  if not build then return {status = 'unknown'} end
  settle_build(build)
  return claim_build(build, lease)
end)

-- call: content, lease (job|item|fence), version (the fence that was found damaged)
-- -> as voice_build_claim
-- Rebuilt once. Repeated damage is no accident, so a further rebuild needs a request.
register('voice_build_reject', function(call)
  local content, lease, version = call.content, call.lease, call.version
  local build = load_build(content)
  if not build then return {status = 'unknown'} end
  settle_build(build)
  if version > 0 and build.version == version then
    discard_version(build, READING_MS)
    redis.call('HDEL', V.build .. content, 'version', 'sha256', 'bytes')
    build.version = 0
    if build.state == 'ready' then
      if redis.call('HGET', V.build .. content, 'rejected') then
        end_build(build, {code = 'voice_cache_corrupt', detail = 'the stored cache was damaged, and so was its successor'})
      else
        redis.call('HSET', V.build .. content, 'rejected', '1')
        save_build(build, {state = 'pending'})
      end
    end
  end
  return claim_build(build, lease)
end)

-- call: content, lease (job|item|fence), fence, sha256, bytes, build_ms
-- -> ok; gone (no cache is of this content any more); lost (another lease builds it)
register('voice_build_commit', function(call)
  local content, lease, fence = call.content, call.lease, call.fence
  local build = load_build(content)
  if not build then return {status = 'gone'} end
  if build.version == fence then return {status = 'ok'} end
  if build.state ~= 'processing' or build.holder ~= lease then return {status = 'lost'} end
  discard_version(build, READING_MS)
  save_build(build, {state = 'ready', version = fence, sha256 = call.sha256, bytes = call.bytes, build_ms = call.build_ms,
    finished_at_ms = now})
  redis.call('HDEL', V.build .. content, 'error')
  enqueue_cache_events(build, 'voice.cache.ready', text(fence))
  return {status = 'ok'}
end)

-- call: content, lease (job|item|fence), code, detail
-- -> ok; gone; lost
-- A version that was built before stays served.
register('voice_build_fail', function(call)
  local content, lease = call.content, call.lease
  local build = load_build(content)
  if not build then return {status = 'gone'} end
  if build.failed == lease then return {status = 'ok'} end
  if build.state ~= 'processing' or build.holder ~= lease then return {status = 'lost'} end
  save_build(build, {failed = lease})
  end_build(build, {code = call.code, detail = call.detail})
  return {status = 'ok'}
end)
