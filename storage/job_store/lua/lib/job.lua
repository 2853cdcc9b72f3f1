-- A job as a table: its record is read, changed and moved here alone; and its warnings.

local TEXT = {
  'tenant', 'state', 'phase', 'class', 'plan_key', 'queue', 'audit', 'kind', 'webhook', 'batch', 'key_id', 'bulky',
}
local NUMBERS = {
  'estimated_audio_ms', 'out_ms', 'cost_ms', 'total', 'next', 'done', 'failed', 'leased', 'retries',
  'chars_done', 'samples_done', 'sample_rate_hz', 'engine_ms', 'started_at_ms', 'deadline_ms', 'retention_s', 'run',
  'credit_ms', 'scheduled',
}

local FIELDS = {}
for i = 1, #TEXT do FIELDS[i] = TEXT[i] end
for i = 1, #NUMBERS do FIELDS[#TEXT + i] = NUMBERS[i] end

local function load_job(id)
  local values = redis.call('HMGET', K.job .. id, unpack(FIELDS))
  if not values[1] then return nil end
  local job = {id = id}
  for i, name in ipairs(FIELDS) do
    if i <= #TEXT then job[name] = values[i] else job[name] = tonumber(values[i]) or 0 end
  end
  return job
end

local function save(job, changes)
  change_record(job, K.job .. job.id, changes)
  redis.call('HINCRBY', K.job .. job.id, 'version', 1)
end

local function is_terminal(job) return TERMINAL[job.state] == true end

local function move(job, state)
  if not MOVES[job.state][state] then
    error('job ' .. job.id .. ' cannot move from ' .. job.state .. ' to ' .. state)
  end
  save(job, {state = state})
end

-- Warnings. The record holds the first so many as JSON, and no field while there are none.

local WARNINGS_KEPT = 100

local function read_warnings(job)
  local known = redis.call('HGET', K.job .. job.id, 'warnings')
  return known and cjson.decode(known) or {}
end

local function write_warnings(job, warnings)
  if #warnings > 0 then save(job, {warnings = cjson.encode(warnings)})
  else redis.call('HDEL', K.job .. job.id, 'warnings') end
end

-- `warning` has code and detail, and segment (a number) if it is about one.
local function warn(job, warning)
  local warnings = read_warnings(job)
  if #warnings >= WARNINGS_KEPT then return end
  warnings[#warnings + 1] = warning
  write_warnings(job, warnings)
end

local function forget_warnings(job, segment)
  local kept = {}
  for _, warning in ipairs(read_warnings(job)) do
    if warning.segment ~= segment then kept[#kept + 1] = warning end
  end
  write_warnings(job, kept)
end

local function forget_warnings_of(job, code)
  local known = read_warnings(job)
  local kept = {}
  for _, warning in ipairs(known) do
    if warning.code ~= code then kept[#kept + 1] = warning end
  end
  if #kept < #known then write_warnings(job, kept) end
end
