-- ARGV: job, item, fence. From now on nothing else runs beside the item in its worker.
-- -> ok | lost | aborted
local id, item, fence = ARGV[1], ARGV[2], ARGV[3]
local _, verdict, worker = resolve(id, item, fence)
if verdict ~= 'held' then return answer(verdict) end
redis.call('HSET', K.live .. id, item, 'A' .. fence .. '|' .. worker)
return answer('ok')
