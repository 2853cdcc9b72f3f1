-- ARGV: cancelled batch, how many of its jobs
-- -> ok + 1 if there are more
-- The next of them are cancelled, in the order of their ids. None came since the batch was: `submit` refuses them.
local id, most = ARGV[1], tonumber(ARGV[2])
local after = redis.call('HGET', K.recalled, id)
if not after then return answer('ok', 0) end

local first = after == '' and '-' or '(' .. after
local children = redis.call('ZRANGEBYLEX', K.children .. id, first, '+', 'LIMIT', 0, most)
for _, child in ipairs(children) do
  local job = load_job(child)
  if job and not is_terminal(job) and job.state ~= 'cancelling' then cancel_job(job) end
end
if #children == most then
  redis.call('HSET', K.recalled, id, children[#children])
  return answer('ok', 1)
end
redis.call('HDEL', K.recalled, id)
local batch = load_job(id)
if batch then settle_cancellation(batch) end
return answer('ok', 0)
