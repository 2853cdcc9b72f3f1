-- ARGV: job, index, fence, result line without its fence, sample rate, finish reason, flags, engine ms,
--       smallest window, id of the content or '', why a segment with flags was kept or '', bytes of the stored segment,
--       code of that warning
-- -> ok | lost | aborted
local id, item, fence = ARGV[1], ARGV[2], ARGV[3]
local rate, finish, flags, engine_ms, window = tonumber(ARGV[5]), ARGV[6], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local reuse_id, warning = ARGV[10], ARGV[11]
local line = 'D' .. fence .. ':' .. ARGV[4]

if is_committed(id, item, line) then return answer_again(id) end
local job, verdict, worker = resolve(id, item, fence)
if verdict ~= 'held' then return answer(verdict) end

forget_lease(job, item, fence, worker)
redis.call('HSET', K.results .. id, item, line)
redis.call('HDEL', K.tries .. id, 'rejected:' .. item)
local result = read_result(line)
count_result(job, result, 1)
save(job, {sample_rate_hz = rate, engine_ms = job.engine_ms + engine_ms, out_ms = job.out_ms + job.cost_ms})
if result.attempts > 1 then redis.call('HINCRBY', K.job .. id, 'rerolls', result.attempts - 1) end
if result.is_flagged then warn(job, {code = ARGV[13], detail = warning, segment = tonumber(item)}) end
if reuse_id ~= '' then
  -- As long as the object lies there at least: retention begins when the job ends.
  redis.call('SET', K.reuse .. job.tenant .. ':' .. reuse_id, id .. ':' .. item .. ':' .. fence, 'EX', job.retention_s)
end
count_flow(job, 'out', job.cost_ms)
local audio_ms = math.floor(result.samples * 1000 / rate)
if not result.is_reused then count_throughput(job.queue, audio_ms, engine_ms) end
count_usage(job, {
  segments = 1, characters = result.chars, audio_ms = audio_ms, engine_ms = engine_ms,
  cached_audio_ms = result.is_reused and audio_ms or 0,
})
count_stored(job, tonumber(ARGV[12]))
open_window(job, window)
if job.done == job.total then
  save(job, {phase = 'assembling'})
  make_ready(job, 'assemble', 'RPUSH')
end
event(job, 'job.segment.completed', {segment = tonumber(item), audio_ms = audio_ms, finish_reason = finish})
if result.is_flagged then event(job, 'job.segment.flagged', {segment = tonumber(item), flags = flags, detail = warning}) end
return answer('ok')
