-- Takes and results of segments.

-- The number of the take that is in place or being made, and the highest that was given out.
local function take_of(job_id, item)
  local value = redis.call('HGET', K.takes .. job_id, item)
  if not value then return 1, 1 end
  local current, highest = string.match(value, '^(%d+):(%d+)$')
  return tonumber(current), tonumber(highest)
end

-- Whether this result was taken, be it that another take is in its place by now.
local function is_committed(job_id, item, line)
  if redis.call('HGET', K.results .. job_id, item) == line then return true end
  local _, highest = take_of(job_id, item)
  -- The first is filed once there is another.
  for number = 1, highest > 1 and highest or 0 do
    if redis.call('HGET', K.takes .. job_id, item .. ':' .. number) == line then return true end
  end
  return false
end

-- Results of segments. The line is written and explained by storage/segments/results.py; releases without a quality gate kept
-- fence, samples and digest alone.

local function read_result(line)
  local samples, chars, attempts, reused, flags =
    string.match(line, '^D%d+:(%d+):(%d+):(%d+):([01]):%d+:[^:]*:[^:]*:[^:]*:[^:]*:(.*)$')
  return {
    samples = tonumber(samples or string.match(line, '^D%d+:(%d+):')), chars = tonumber(chars) or 0,
    attempts = tonumber(attempts) or 1, is_reused = reused == '1', is_flagged = flags ~= nil and flags ~= '',
  }
end

-- sign is 1 for a result that came and -1 for one that is taken back. What was spent on it stays spent.
local function count_result(job, result, sign)
  local record = K.job .. job.id
  if result.is_reused then
    redis.call('HINCRBY', record, 'reused', sign)
    redis.call('HINCRBY', record, 'samples_reused', text(sign * result.samples))
  end
  if result.is_flagged then redis.call('HINCRBY', record, 'flagged', sign) end
  save(job, {
    done = job.done + sign, chars_done = job.chars_done + sign * result.chars,
    samples_done = job.samples_done + sign * result.samples,
  })
end

-- The segment is not done any more; returns its line, or nil if it was not done.
local function take_back_result(job, item)
  local line = redis.call('HGET', K.results .. job.id, item)
  if not line or string.sub(line, 1, 1) ~= 'D' then return nil end
  redis.call('HDEL', K.results .. job.id, item)
  local result = read_result(line)
  count_result(job, result, -1)
  if result.is_flagged then forget_warnings(job, 'segment', tonumber(item)) end
  return line
end
