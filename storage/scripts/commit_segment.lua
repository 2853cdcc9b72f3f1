-- ARGV: job, index, fence, samples, sample rate, characters, sha256, finish reason, engine ms, smallest window
-- -> ok | lost | aborted
local id, item, fence = ARGV[1], ARGV[2], ARGV[3]
local samples, rate, chars, engine_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[9])
local result = 'D' .. fence .. ':' .. ARGV[4] .. ':' .. ARGV[7]

-- A sum that decays with time: divided by its time constant it is the recent throughput.
local function count_drain(audio_ms)
  local sum, at = unpack(redis.call('HMGET', K.drain, 'sum_ms', 'at_ms'))
  local kept = sum and sum * math.exp(math.min(0, at - now) / DRAIN_TAU_MS) or 0
  redis.call('HSET', K.drain, 'sum_ms', string.format('%.3f', kept + audio_ms), 'at_ms', text(now))
end

if redis.call('HGET', K.results .. id, item) == result then return answer_again(id) end
local job, verdict, worker = resolve(id, item, fence)
if verdict ~= 'held' then return answer(verdict) end

forget_lease(job, item, fence, worker)
redis.call('HSET', K.results .. id, item, result)
save(job, {
  done = job.done + 1, chars_done = job.chars_done + chars, samples_done = job.samples_done + samples,
  sample_rate_hz = rate, engine_ms = job.engine_ms + engine_ms, out_ms = job.out_ms + job.cost_ms,
})
count_flow(job, 'out', job.cost_ms)
local audio_ms = math.floor(samples * 1000 / rate)
count_drain(audio_ms)
open_window(job, tonumber(ARGV[10]))
if job.done == job.total then
  save(job, {phase = 'assembling'})
  make_ready(job, 'assemble', 'RPUSH')
end
event(job, 'job.segment.completed', {segment = tonumber(item), audio_ms = audio_ms, finish_reason = ARGV[8]})
return answer('ok')
