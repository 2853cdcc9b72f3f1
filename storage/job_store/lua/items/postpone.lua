-- ARGV: job, item, fence, delay ms, '1' if all it waits for is a place among voices that are prepared
-- -> ok | lost | aborted
-- The item waits for something else; nothing is held against it.
local id, item, fence = ARGV[1], ARGV[2], ARGV[3]

local attempts, suspicions, last = read_tries(id, item)
if last == fence then return answer_again(id) end
local job, verdict, worker = resolve(id, item, fence)
if verdict ~= 'held' then return answer(verdict) end

forget_lease(job, item, fence, worker)
write_tries(id, item, attempts, suspicions, fence)
redis.call('HSET', K.live .. id, item, 'W')
redis.call('ZADD', K.retries, text(now + tonumber(ARGV[4])), id .. '|' .. item)
tally(job, 'retries:', 1)
if ARGV[5] == '1' then
  redis.call('ZADD', K.voice_slot_waiters .. job.queue, text(now), id .. '|' .. item)
elseif is_voice_job(job) then
  admit_waiter(job.queue)
end
return answer('ok')
