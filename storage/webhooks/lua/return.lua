-- ARGV: limit, worker name or '', its boot_id
-- -> attempts that were given back: those whose lease is over, or all that another boot_id of this worker held
-- The receiver may have got them: it will see the same id and the same bytes again.
local limit, worker, boot_id = ARGV[1], ARGV[2], ARGV[3]

local function overdue()
  return redis.call('ZRANGEBYSCORE', W.flights, '-inf', webhooks.text(webhooks.now), 'LIMIT', 0, limit)
end

local function left_behind()
  local held, found = redis.call('HGETALL', W.holder .. worker), {}
  for i = 1, #held, 2 do
    if held[i + 1] ~= boot_id then found[#found + 1] = held[i] end
  end
  return found
end

local flights = worker == '' and overdue() or left_behind()
for _, flight in ipairs(flights) do
  local id, fence = string.match(flight, '^([^|]*)|(%d+)$')
  local target, current, holder, state = unpack(redis.call('HMGET', W.delivery .. id,
    'target', 'fence', 'worker', 'state'))
  redis.call('ZREM', W.flights, flight)
  if worker ~= '' then redis.call('HDEL', W.holder .. worker, flight) end
  if target then
    redis.call('ZREM', W.flying .. target, flight)
    redis.call('HDEL', W.holder .. holder, flight)
    if current == fence and state == 'sending' then webhooks.wait(id, target, webhooks.now) end
    webhooks.place(target)
  end
end
return {#flights}
