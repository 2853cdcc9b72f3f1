-- What everything that tells of events shares: endpoints that want them, deliveries, and when targets are due. All
-- names are in one table: a text of Lua has room for two hundred at its top.
--
-- A target with deliveries is in exactly one of W.due and W.suspects, or in none while as many attempts are under way
-- as it may have. Only `place` puts it there.

-- A score for what is due now, behind all that became due before it: milliseconds alone do not tell.
function webhooks.turn()
  return string.format('%.3f', now - 1 + redis.call('INCR', W.turn) % 1000 / 1000)
end

function webhooks.health(target)
  local proven, failures, open_until = unpack(redis.call('HMGET', W.target .. target,
    'proven', 'failures', 'open_until_ms'))
  return proven == '1', tonumber(failures) or 0, tonumber(open_until) or 0
end

-- Where the target stands among those that wait. One that is served again goes behind those that wait already.
function webhooks.place(target)
  local proven, failures, open_until = webhooks.health(target)
  local most = (proven and failures < HOOK.BREAKER_FAILURES) and HOOK.MAX_IN_FLIGHT or 1
  redis.call('ZREM', W.due, target)
  redis.call('ZREM', W.suspects, target)
  if redis.call('ZCARD', W.flying .. target) >= most then return end
  local first = redis.call('ZRANGE', W.waiting .. target, 0, 0, 'WITHSCORES')
  if not first[1] then return end
  local at = math.max(tonumber(first[2]), open_until)
  local score = at > now and text(at) or webhooks.turn()
  redis.call('ZADD', (proven and failures == 0) and W.due or W.suspects, score, target)
end

function webhooks.wait(id, target, at_ms)
  redis.call('HSET', W.delivery .. id, 'state', 'pending', 'next_at_ms', text(at_ms))
  redis.call('ZADD', W.waiting .. target, at_ms > now and text(at_ms) or webhooks.turn(), id)
end

-- The delivery has its last state, until it is sent again. Memory is bounded by count and by time.
function webhooks.finish(id, target, state, reason)
  redis.call('HSET', W.delivery .. id, 'state', state, 'reason', reason, 'ended_at_ms', text(now))
  redis.call('HDEL', W.delivery .. id, 'next_at_ms')
  redis.call('EXPIRE', W.delivery .. id, HOOK.KEPT_S)
  redis.call('EXPIRE', W.attempts .. id, HOOK.KEPT_S)
  local ended = W.ended .. target
  redis.call('ZADD', ended, text(now), id)
  for _ = 1, redis.call('ZCARD', ended) - HOOK.KEPT_DELIVERIES do
    local oldest = redis.call('ZPOPMIN', ended)[1]
    redis.call('ZREM', W.log .. target, oldest)
    redis.call('DEL', W.delivery .. oldest, W.attempts .. oldest)
  end
  redis.call('EXPIRE', ended, HOOK.KEPT_S)
end

-- A new delivery; nothing if there is one of this id. `fields` are of its record.
function webhooks.add(id, target, job, fields)
  if redis.call('EXISTS', W.delivery .. id) == 1 then return end
  redis.call('HSET', W.delivery .. id, 'id', id, 'target', target, 'job', job, 'tries', 0, 'attempts', 0,
    'created_at_ms', text(now), unpack(fields))
  redis.call('ZADD', W.log .. target, text(now), id)
  redis.call('EXPIRE', W.log .. target, HOOK.KEPT_S * 2)
  if job ~= '' then
    redis.call('ZADD', W.of_job .. job, text(now), id)
    redis.call('EXPIRE', W.of_job .. job, HOOK.KEPT_S * 2)
  end
  if redis.call('ZCARD', W.waiting .. target) >= HOOK.MAX_WAITING then
    webhooks.finish(id, target, 'failed', 'too_many_waiting')
    return
  end
  webhooks.wait(id, target, now)
  webhooks.place(target)
  webhooks.ring()
end

-- One ticket calls a worker, which claims until nothing is due; only then is another needed.
function webhooks.ring()
  if redis.call('SET', W.called, '1', 'NX') then webhooks.made = webhooks.made + 1 end
end

function webhooks.wants(events, kind)
  return events == '*' or string.find(',' .. events .. ',', ',' .. kind .. ',', 1, true) ~= nil
end

-- Read once a call, however many events it tells of; nothing that changes them tells of a job's.
function webhooks.routes_of(tenant)
  local known = webhooks.routes[tenant]
  if not known then
    known = redis.call('HGETALL', W.routes .. tenant)
    webhooks.routes[tenant] = known
  end
  return known
end

-- The receivers of this kind of event: target -> {endpoint or '', url, API's URL}. `own` is the job's webhook as
-- JSON, or false; what it says of an endpoint counts in place of what that endpoint chose.
function webhooks.receivers(tenant, kind, own)
  local found = {}
  local routes = webhooks.routes_of(tenant)
  local named = own and cjson.decode(own) or {endpoint = '', events = {}}
  for i = 1, #routes, 2 do
    if routes[i] ~= named.endpoint and webhooks.wants(routes[i + 1], kind) then
      found['e:' .. routes[i]] = {routes[i], '', ''}
    end
  end
  if own and webhooks.wants(table.concat(named.events, ','), kind) then
    found[named.target] = {named.endpoint, named.url, named.api_url}
  end
  return found
end

-- Tells of an event: one delivery for each receiver. `subject` names the event among all of its kind, so that its ids
-- stay equal when it is sent again. It and `facts` are functions, called only if there are receivers.
function webhooks.enqueue_webhook(tenant, kind, job, own, subject, facts)
  local receivers = webhooks.receivers(tenant, kind, own)
  if next(receivers) == nil then return end
  local about, known = subject(), facts()
  local said = cjson.encode(known)
  for target, receiver in pairs(receivers) do
    local id = 'evt_' .. redis.sha1hex(table.concat({kind, about, target}, '|'))
    webhooks.add(id, target, job, {'tenant', tenant, 'endpoint', receiver[1], 'url', receiver[2],
      'api_url', receiver[3], 'type', kind, 'facts', said, 'trace', known.trace or ''})
  end
end

function webhooks.disable(endpoint, tenant, reason)
  if redis.call('HGET', W.endpoint .. endpoint, 'state') ~= 'enabled' then return end
  redis.call('HSET', W.endpoint .. endpoint, 'state', 'disabled', 'disabled_reason', reason,
    'updated_at_ms', text(now))
  redis.call('HDEL', W.routes .. tenant, endpoint)
  webhooks.routes[tenant] = nil
  local function subject() return endpoint .. '|' .. text(now) end
  webhooks.enqueue_webhook(tenant, 'webhook_endpoint.disabled', '', false, subject, function()
    return {endpoint = endpoint, reason = reason, at_ms = now,
      description = redis.call('HGET', W.endpoint .. endpoint, 'description')}
  end)
end
