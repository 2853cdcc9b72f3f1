-- What voices and their caches share.
--
-- A build is the record of one content: what is served (`version`, the fence under which it was built, 0 for nothing)
-- and what is being done about it (`state`). It lives as long as a voice's cache names its content, and only
-- voice_cache_request creates one: whatever comes late finds nothing to change.

local BUILD_FIELDS = {'tenant', 'state', 'holder', 'job', 'run', 'version', 'failed'}

local function load_build(content)
  local values = redis.call('HMGET', V.build .. content, unpack(BUILD_FIELDS))
  if not values[1] then return nil end
  local build = {content = content}
  for i, name in ipairs(BUILD_FIELDS) do build[name] = values[i] or '' end
  build.version = tonumber(build.version) or 0
  return build
end

local function save_build(build, changes) change_record(build, V.build .. build.content, changes) end

local function discard(member, delay_ms) redis.call('ZADD', V.garbage, text(now + delay_ms), member) end

-- Readers that have just looked it up get a minute to read it.
local READING_MS = 60000

local function discard_version(build, delay_ms)
  if build.version > 0 then
    discard('c|' .. build.tenant .. '|' .. build.content .. '|' .. text(build.version), delay_ms)
  end
end

-- The webhook data of one cache of this content.
local function enqueue_cache_event(build, cache, kind, occurrence, failure)
  local voice, mode, model = string.match(cache, '^([^|]*)|([^|]*)|(.*)$')
  local function subject() return cache .. '|' .. build.content .. '|' .. occurrence end
  webhooks.enqueue_webhook(build.tenant, kind, '', false, subject, function()
    return {voice = voice, name = redis.call('HGET', V.voice .. voice, 'name') or nil, mode = mode, model = model,
      at_ms = now, error = failure and cjson.encode(failure) or nil}
  end)
end

-- And of all of them.
local function enqueue_cache_events(build, kind, occurrence, failure)
  for _, cache in ipairs(redis.call('SMEMBERS', V.users .. build.content)) do
    enqueue_cache_event(build, cache, kind, occurrence, failure)
  end
end

local function enqueue_voice_event(kind, tenant, voice)
  local name = redis.call('HGET', V.voice .. voice, 'name')
  webhooks.enqueue_webhook(tenant, kind, '', false, function() return voice end, function()
    return {voice = voice, name = name, at_ms = now}
  end)
end

local function end_build(build, failure)
  enqueue_cache_events(build, 'voice.cache.failed', text(now), failure)
  save_build(build, {state = build.version > 0 and 'ready' or 'failed', finished_at_ms = now,
    error = cjson.encode(failure)})
end

local function is_under_way(job)
  local state = redis.call('HGET', K.job .. job, 'state')
  return state and not TERMINAL[state]
end

-- The state as it is now: the lease of a build is the lease of the item that builds, so nothing else ends it.
local function settle_build(build)
  if build.state == 'processing' and not redis.call('ZSCORE', K.leases, build.holder) then
    local job, item = string.match(build.holder, '^([^|]*)|([^|]*)|')
    local result = redis.call('HGET', K.results .. job, item)
    if result and string.sub(result, 1, 1) == 'X' then
      end_build(build, {code = 'worker_lost', detail = 'every worker that tried to build it was lost'})
    else
      save_build(build, {state = 'pending'})
    end
  end
  if build.state == 'pending' and not is_under_way(build.job) then
    end_build(build, {code = 'not_built', detail = 'the job that was to build it has ended'})
  end
end

-- What the holder of this lease is to do about the build; it becomes the builder where there is none.
local function claim_build(build, lease)
  if build.state == 'ready' then
    local version, sha256, bytes = unpack(redis.call('HMGET', V.build .. build.content, 'version', 'sha256', 'bytes'))
    return {status = 'ready', version = version, sha256 = sha256, bytes = bytes}
  end
  if build.state == 'failed' then
    return {status = 'failed', error = redis.call('HGET', V.build .. build.content, 'error')}
  end
  if build.state == 'processing' then return {status = build.holder == lease and 'build' or 'busy'} end
  save_build(build, {state = 'processing', holder = lease})
  redis.call('HINCRBY', V.build .. build.content, 'attempts', 1)
  return {status = 'build'}
end

-- Caches. A cache is `voice|mode|model`; V.caches .. voice says which content it is of.

local function cache_name(voice, field) return voice .. '|' .. field end

local function leave_build(content, name, delay_ms)
  redis.call('SREM', V.users .. content, name)
  local build = load_build(content)
  if not build or redis.call('EXISTS', V.users .. content) == 1 then return end
  discard_version(build, delay_ms)
  redis.call('DEL', V.build .. content)
end

local function drop_cache(tenant, voice, field, delay_ms)
  local content = redis.call('HGET', V.caches .. voice, field)
  if not content then return 0 end
  redis.call('HDEL', V.caches .. voice, field)
  redis.call('ZREM', V.cache_list .. tenant, cache_name(voice, field))
  leave_build(content, cache_name(voice, field), delay_ms)
  return 1
end

local function drop_caches(tenant, voice, delay_ms)
  for _, field in ipairs(redis.call('HKEYS', V.caches .. voice)) do drop_cache(tenant, voice, field, delay_ms) end
end

local function is_owner(tenant, voice) return redis.call('HGET', V.voice .. voice, 'tenant') == tenant end

local function voice_record(voice) return hash_at(V.voice .. voice) end
