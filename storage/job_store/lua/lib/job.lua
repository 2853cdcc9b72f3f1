-- A job as a table: its record is read, changed and moved here alone; and its warnings.

local TEXT = {
  'tenant', 'state', 'phase', 'class', 'plan_key', 'queue', 'audit', 'kind', 'webhook', 'batch', 'key_id', 'bulky',
  'whole',
}
local NUMBERS = {
  'estimated_audio_ms', 'out_ms', 'cost_ms', 'total', 'next', 'done', 'failed', 'leased', 'retries',
  'chars_done', 'samples_done', 'sample_rate_hz', 'engine_ms', 'started_at_ms', 'deadline_ms', 'retention_s', 'run',
  'credit_ms', 'scheduled', 'version',
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

-- A function that changes much of a job writes it once: between `gather_changes` and `write_changes` what is saved is in
-- the table alone.

local function save(job, changes)
  if job.gathered then
    for name, value in pairs(changes) do
      job[name] = value
      job.gathered[name] = value
    end
    return
  end
  changes.version = job.version + 1
  change_record(job, K.job .. job.id, changes)
end

local function gather_changes(job) job.gathered = {} end

local function write_changes(job)
  local changes = job.gathered
  job.gathered = nil
  if changes and next(changes) then save(job, changes) end
end

local function is_terminal(job) return TERMINAL[job.state] == true end

-- changes: what else is different from then on.
local function move(job, state, changes)
  if not MOVES[job.state][state] then
    error('job ' .. job.id .. ' cannot move from ' .. job.state .. ' to ' .. state)
  end
  changes = changes or {}
  changes.state = state
  save(job, changes)
end

-- Whole jobs. Their one item is their one segment, and its plan came with them. How many segments there are is said when
-- the item is first given out, as of any other job it is when that is planned.

local WHOLE_ITEM = '0'

local function is_unplanned(job) return job.total == 0 end

-- What a job that has no segments yet begins with.
local function first_item(job) return job.whole and WHOLE_ITEM or 'plan' end

-- Warnings. The record holds the first so many as JSON, and no field while there are none.

local WARNINGS_KEPT = 100

local function read_warnings(job)
  local known = job.gathered and job.gathered.warnings or redis.call('HGET', K.job .. job.id, 'warnings')
  return known and cjson.decode(known) or {}
end

local function write_warnings(job, warnings)
  if #warnings > 0 then save(job, {warnings = cjson.encode(warnings)})
  else redis.call('HDEL', K.job .. job.id, 'warnings') end
end

-- Each has code and detail, and segment (a number) if it is about one.
local function warn_all(job, more)
  if #more == 0 then return end
  local warnings = read_warnings(job)
  local known = #warnings
  for _, warning in ipairs(more) do
    if #warnings < WARNINGS_KEPT then warnings[#warnings + 1] = warning end
  end
  if #warnings > known then write_warnings(job, warnings) end
end

local function warn(job, warning) warn_all(job, {warning}) end

-- Those whose field, code or segment, has this value.
local function forget_warnings(job, field, value)
  local known, kept = read_warnings(job), {}
  for _, warning in ipairs(known) do
    if warning[field] ~= value then kept[#kept + 1] = warning end
  end
  if #kept < #known then write_warnings(job, kept) end
end
