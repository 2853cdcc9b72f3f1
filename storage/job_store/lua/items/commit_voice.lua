-- ARGV: job, index, fence, build ms, smallest window
-- -> ok | lost | aborted
local id, item, fence = ARGV[1], ARGV[2], ARGV[3]
local result = 'D' .. fence

if redis.call('HGET', K.results .. id, item) == result then return answer_again(id) end
local job, verdict, worker = resolve(id, item, fence)
if verdict ~= 'held' then return answer(verdict) end

forget_lease(job, item, fence, worker)
redis.call('HSET', K.results .. id, item, result)
save(job, {done = job.done + 1, engine_ms = job.engine_ms + tonumber(ARGV[4]), out_ms = job.out_ms + job.cost_ms})
count_flow(job, 'out', job.cost_ms)
count_usage(job, {engine_ms = tonumber(ARGV[4])})
event(job, 'job.segment.completed', {segment = tonumber(item)})
follow_voice(job, tonumber(ARGV[5]))
settle_voices(job)
return answer('ok')
