-- ARGV: delivery, fence, '1' if it was delivered, ms until the next attempt ('' when there is none), ms the target
--       wants to be left alone, '1' if the receiver wants nothing any more, the attempt as JSON, its reason
-- -> state of the delivery; lost (somebody else holds it now)
local id, fence, is_delivered, retry, pause = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4], tonumber(ARGV[5])
local is_gone, attempt, reason = ARGV[6] == '1', ARGV[7], ARGV[8]
local key = W.delivery .. id
local target, endpoint, tenant, state, holder, worker = unpack(redis.call('HMGET', key,
  'target', 'endpoint', 'tenant', 'state', 'fence', 'worker'))

if not target or holder ~= fence then return {'lost'} end
-- A repeated call.
if state ~= 'sending' then return {state} end

local function land()
  local flight = id .. '|' .. fence
  redis.call('ZREM', W.flying .. target, flight)
  redis.call('ZREM', W.flights, flight)
  redis.call('HDEL', W.holder .. worker, flight)
  redis.call('HINCRBY', key, 'tries', 1)
  redis.call('HINCRBY', key, 'attempts', 1)
  redis.call('RPUSH', W.attempts .. id, attempt)
  redis.call('LTRIM', W.attempts .. id, 0 - HOOK.KEPT_ATTEMPTS, -1)
end

local function rest_until(at_ms)
  local _, _, known = webhooks.health(target)
  if at_ms > known then redis.call('HSET', W.target .. target, 'open_until_ms', webhooks.text(at_ms)) end
end

-- Whether the target has failed for so long that it is given up.
local function count_failure()
  local failures = redis.call('HINCRBY', W.target .. target, 'failures', 1)
  redis.call('HSETNX', W.target .. target, 'failing_since_ms', webhooks.text(webhooks.now))
  if failures >= HOOK.BREAKER_FAILURES then
    local rest_ms = HOOK.FIRST_REST_MS * 2 ^ math.min(failures - HOOK.BREAKER_FAILURES, 10)
    rest_until(webhooks.now + math.min(rest_ms, HOOK.LONGEST_REST_MS))
  end
  if pause > 0 then rest_until(webhooks.now + math.min(pause, HOOK.LONGEST_PAUSE_MS)) end
  local since = tonumber(redis.call('HGET', W.target .. target, 'failing_since_ms'))
  return webhooks.now - since >= HOOK.HOPELESS_MS
end

land()
if is_delivered then
  redis.call('HSET', W.target .. target, 'proven', '1')
  redis.call('HDEL', W.target .. target, 'failures', 'open_until_ms', 'failing_since_ms')
  webhooks.finish(id, target, 'delivered', '')
else
  local is_hopeless = count_failure()
  if retry == '' or is_gone then
    webhooks.finish(id, target, 'failed', reason)
  else
    redis.call('HSET', key, 'reason', reason)
    webhooks.wait(id, target, webhooks.now + tonumber(retry))
  end
  if endpoint ~= '' and (is_gone or is_hopeless) then
    webhooks.disable(endpoint, tenant, is_gone and 'gone' or 'failing')
  end
end
redis.call('EXPIRE', W.target .. target, HOOK.KEPT_S * 2)
webhooks.place(target)
return {redis.call('HGET', key, 'state')}
