-- The log of a job's events, and the webhooks that get them.

local EVENTS_KEPT = 500

-- The event's deliveries. Their ids follow from the number of such events of the job, not from a clock. So if an old
-- copy of the database reaches an end again, receivers see equal ids.
local function enqueue_webhook(job, kind, audio_ms, more)
  if not HOOK.JOB_EVENTS[kind] or (job.kind == 'batch') ~= (kind == 'batch.completed') then return end
  local function subject()
    write_changes(job)
    return job.id .. '|' .. redis.call('HINCRBY', K.job .. job.id, 'told:' .. kind, 1)
  end
  webhooks.enqueue_webhook(job.tenant, kind, job.id, job.webhook, subject, function()
    local facts = {job = job.id, kind = job.kind or 'synthesis', state = job.state, phase = job.phase or nil,
      at_ms = now, segments_total = job.total, segments_done = job.done, segments_failed = job.failed,
      chars_done = job.chars_done, audio_ms_done = audio_ms, more = more and cjson.encode(more) or nil}
    local names = {'version', 'created_at_ms', 'started_at_ms', 'finished_at_ms', 'metadata', 'artifacts', 'error',
      'lines', 'flagged', 'warnings', 'ended_succeeded', 'ended_failed', 'ended_cancelled', 'ended_expired', 'trace'}
    for i, value in ipairs(redis.call('HMGET', K.job .. job.id, unpack(names))) do facts[names[i]] = value or nil end
    return facts
  end)
end

-- `more` holds what only this type of event says, as flat JSON.
local function event(job, kind, more)
  local audio_ms = 0
  if job.sample_rate_hz > 0 then audio_ms = math.floor(job.samples_done * 1000 / job.sample_rate_hz) end
  local fields = {'type', kind, 'at_ms', text(now), 'state', job.state, 'phase', job.phase or '',
    'segments_total', text(job.total), 'segments_done', text(job.done), 'chars_done', text(job.chars_done),
    'audio_ms_done', text(audio_ms), 'more', more and cjson.encode(more) or ''}
  local id = redis.call('XADD', K.events .. job.id, 'MAXLEN', '~', EVENTS_KEPT, '*', unpack(fields))
  redis.call('PUBLISH', K.events .. job.id, cjson.encode({id, fields})) -- to processes whose clients follow the job
  enqueue_webhook(job, kind, audio_ms, more)
end
