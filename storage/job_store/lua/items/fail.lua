-- ARGV: job, item, fence, code, detail, delay ms ('' when another try cannot help), max attempts, times that a
--       segment was spoken in vain, what these attempts were or '', bytes of their stored audio
-- -> ok | lost | aborted
local id, item, fence, delay = ARGV[1], ARGV[2], ARGV[3], ARGV[6]
local failure = {code = ARGV[4], detail = ARGV[5]}
local rejected = tonumber(ARGV[8])

local attempts, suspicions, last = read_tries(id, item)
local was_retried = delay ~= '' and last == fence
if was_retried or redis.call('HGET', K.results .. id, item) == 'X' .. fence then return answer_again(id) end
local job, verdict, worker = resolve(id, item, fence)
if verdict ~= 'held' then return answer(verdict) end

forget_lease(job, item, fence, worker)
write_tries(id, item, attempts + 1, suspicions, fence)
if rejected > 0 then
  -- Should the job be reopened, this item goes on with other seeds.
  redis.call('HINCRBY', K.tries .. id, 'rejected:' .. item, rejected)
  redis.call('HINCRBY', K.job .. id, 'rerolls', rejected - 1)
end
if ARGV[9] ~= '' then
  redis.call('HSET', K.tries .. id, 'rejected:' .. item, ARGV[9])
  count_stored(job, tonumber(ARGV[10]))
end
if delay == '' or attempts + 1 >= tonumber(ARGV[7]) then
  fail_item(job, item, fence, failure)
  return answer('ok')
end
redis.call('HSET', K.live .. id, item, 'W')
redis.call('ZADD', K.retries, text(now + tonumber(delay)), id .. '|' .. item)
tally(job, 'retries:', 1)
save(job, {retries = job.retries + 1})
if is_voice_job(job) then admit_waiter(job.queue) end
return answer('ok')
