-- ARGV: most targets to look at
-- -> deliveries that could be claimed now: as many tickets should wait
local count, at = 0, webhooks.text(webhooks.now)
for _, key in ipairs({W.due, W.suspects}) do
  for _, target in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', at, 'LIMIT', 0, ARGV[1])) do
    local room = (key == W.due and HOOK.MAX_IN_FLIGHT or 1) - redis.call('ZCARD', W.flying .. target)
    count = count + math.max(0, math.min(room, redis.call('ZCOUNT', W.waiting .. target, '-inf', at)))
  end
end
return {count}
