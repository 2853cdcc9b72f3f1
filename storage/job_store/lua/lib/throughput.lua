-- The pace of a queue's workers: what they have spoken by the time it took them. Both fade only in time with work, so
-- the pace of an idle fleet stays unchanged. A pause counts at most as long as the segment after it.

local DRAIN_TAU_MS = 60000 -- time constant, in time with work
local FEWEST_TOGETHER = 1.5 -- segments at a time, on average, from which on the pace is that of a batch

local function count_throughput(queue, audio_ms, engine_ms)
  local audio, busy, engine, at = unpack(redis.call('HMGET', K.throughput,
    queue .. ':audio_ms', queue .. ':busy_ms', queue .. ':engine_ms', queue .. ':at_ms'))
  local most = engine_ms + 250 -- and the way to the store
  local passed = math.max(0, math.min(at and now - at or most, most))
  local kept = math.exp(0 - passed / DRAIN_TAU_MS)
  redis.call('HSET', K.throughput, queue .. ':at_ms', text(now),
    queue .. ':audio_ms', string.format('%.3f', (audio or 0) * kept + audio_ms),
    queue .. ':busy_ms', string.format('%.3f', (busy or 0) * kept + passed),
    queue .. ':engine_ms', string.format('%.3f', (engine or 0) * kept + engine_ms))
end

-- Audio time spoken in a unit of time; 0 while nothing is known.
local function throughput(queue)
  local audio, busy = unpack(redis.call('HMGET', K.throughput, queue .. ':audio_ms', queue .. ':busy_ms'))
  return audio and audio / math.max(busy, 1) or 0
end

-- The same for a job of many segments; 0 while segments were spoken one by one where there is room for more: a batch
-- is several times as fast.
local function batch_throughput(queue)
  local busy, engine = unpack(redis.call('HMGET', K.throughput, queue .. ':busy_ms', queue .. ':engine_ms'))
  local is_batch = engine and tonumber(engine) >= FEWEST_TOGETHER * tonumber(busy)
  if not is_batch and worker_slots(queue) > 1 then return 0 end
  return throughput(queue)
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
