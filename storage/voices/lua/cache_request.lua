-- ARGV: tenant, job, rebuild ('1' or ''), then content, voice, revision, mode, model, model revision for each cache
-- -> for each: its state, or missing (no such voice), moved (another revision), ended (the job is not under way)
local tenant, job, rebuild = ARGV[1], ARGV[2], ARGV[3] == '1'
local run = redis.call('HGET', K.job .. job, 'run') or '' -- a job that is retried asks anew

local function start(build)
  save_build(build, {state = 'pending', job = job, run = run, requested_at_ms = now, attempts = 0})
  redis.call('HDEL', V.build .. build.content, 'error', 'rejected')
end

local function ask(build)
  settle(build)
  -- Asked before by this very run of the job: what became of it since stays.
  if build.job == job and build.run == run then return end
  if build.state == 'pending' or build.state == 'processing' then
    -- Shared: it is pending for as long as the last that wants it is under way.
    save_build(build, {job = job, run = run})
  elseif build.state == 'failed' or rebuild then
    start(build)
  end
end

local function request(content, voice, revision, mode, model, model_revision)
  local owner, current = unpack(redis.call('HMGET', V.voice .. voice, 'tenant', 'revision'))
  if owner ~= tenant then return 'missing' end
  if current ~= revision then return 'moved' end
  local field = mode .. '|' .. model
  local name = cache_name(voice, field)
  local known = redis.call('HGET', V.caches .. voice, field)
  if known and known ~= content then leave_build(known, name, READING_MS) end
  redis.call('HSET', V.caches .. voice, field, content)
  redis.call('ZADD', V.cache_list .. tenant, 0, name)
  local build = load_build(content)
  if not build then
    redis.call('SADD', V.users .. content, name)
    build = {content = content, version = 0}
    redis.call('HSET', V.build .. content, 'tenant', tenant, 'mode', mode, 'model', model,
      'model_revision', model_revision)
    start(build)
  else
    join_build(build, name)
    ask(build)
    -- Another voice has the same content, and its cache serves this one at once.
    if known ~= content and build.state == 'ready' then
      enqueue_cache_event(build, name, 'voice.cache.ready', text(build.version))
    end
  end
  return build.state
end

local statuses = {}
local is_wanted = is_under_way(job)
for i = 4, #ARGV, 6 do
  statuses[#statuses + 1] = is_wanted and request(unpack(ARGV, i, i + 5)) or 'ended'
end
return statuses
