-- The pace of a queue's workers: what they have spoken by the time it took them. Both fade with time in which there was
-- work, so that the pace of an idle fleet stays what it was; a rest is no longer than the segment that follows it took.

local DRAIN_TAU_MS = 60000 -- time constant, in time with work

local function count_throughput(queue, audio_ms, engine_ms)
  local audio, busy, at = unpack(redis.call('HMGET', K.throughput, queue .. ':audio_ms', queue .. ':busy_ms', queue .. ':at_ms'))
  local most = engine_ms + 250 -- and the way to the store
  local passed = math.max(0, math.min(at and now - at or most, most))
  local kept = math.exp(0 - passed / DRAIN_TAU_MS)
  redis.call('HSET', K.throughput, queue .. ':at_ms', text(now),
    queue .. ':audio_ms', string.format('%.3f', (audio or 0) * kept + audio_ms),
    queue .. ':busy_ms', string.format('%.3f', (busy or 0) * kept + passed))
end

-- Audio time spoken in a unit of time; 0 while nothing is known.
local function throughput(queue)
  local audio, busy = unpack(redis.call('HMGET', K.throughput, queue .. ':audio_ms', queue .. ':busy_ms'))
  return audio and audio / math.max(busy, 1) or 0
end

-- Of all queues together.
local function total_throughput()
  local rate = 0
  for _, field in ipairs(redis.call('HKEYS', K.throughput)) do
    local queue = string.match(field, '^(.*):at_ms$')
    if queue then rate = rate + throughput(queue) end
  end
  return rate
end
