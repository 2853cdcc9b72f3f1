-- ARGV: batch, index, fence, smallest window
-- -> ok | lost | aborted
local id, item, fence = ARGV[1], ARGV[2], ARGV[3]
local result = 'D' .. fence

if redis.call('HGET', K.results .. id, item) == result then return answer_again(id) end
local job, verdict, worker = resolve(id, item, fence)
if verdict ~= 'held' then return answer(verdict) end

forget_lease(job, item, fence, worker)
redis.call('HSET', K.results .. id, item, result)
save(job, {done = job.done + 1})
open_window(job, tonumber(ARGV[4]))
settle_batch(id)
return answer('ok')
