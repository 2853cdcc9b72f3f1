-- Deliveries are claimed, tried and sent again.

-- call: worker (its name), boot_id, lease_ms, most (deliveries), most_suspects (of them, to suspects)
-- -> ok + is_drained (whether nothing more is due for this caller), deliveries: of each fence, is_suspect (its target),
--    url, secrets (as JSON), api_url, record
-- The same deliveries in the same order as so many claims of one.
register('webhook_claim', function(call)
  local worker, boot_id, lease_ms = call.worker, call.boot_id, call.lease_ms
  local claimed, suspects = {}, 0
  local MOST_DROPS = 64 -- deliveries without a receiver that are given up by one claim

  local function first_due(key)
    return redis.call('ZRANGEBYSCORE', key, '-inf', text(now), 'LIMIT', 0, 1)[1]
  end

  local function next_target()
    local target = first_due(W.due)
    if target or suspects >= call.most_suspects then return target, false end
    return first_due(W.suspects), true
  end

  -- Where it goes: URL, secrets, API's URL; or nil and why it goes nowhere.
  local function address(tenant, endpoint, url, api_url)
    if endpoint == '' then return url, redis.call('HGET', W.secrets .. tenant, 'secrets') or '[]', api_url end
    local state, own, secrets, base = unpack(redis.call('HMGET', W.endpoint .. endpoint,
      'state', 'url', 'secrets', 'api_url'))
    if not state then return nil, 'endpoint_deleted' end
    if state ~= 'enabled' then return nil, 'endpoint_disabled' end
    return own, secrets, api_url ~= '' and api_url or base
  end

  local function take_off(id, target)
    local fence = next_fence(W.fence)
    local flight, until_ms = id .. '|' .. fence, text(now + lease_ms)
    redis.call('ZADD', W.flying .. target, until_ms, flight)
    redis.call('ZADD', W.flights, until_ms, flight)
    redis.call('HSET', W.holder .. worker, flight, boot_id)
    redis.call('HSET', W.delivery .. id, 'state', 'sending', 'fence', fence, 'worker', worker)
    return fence
  end

  -- The delivery, if it goes anywhere; one that does not has failed.
  local function taken(id, target, is_suspect)
    local tenant, endpoint, url, api_url = unpack(redis.call('HMGET', W.delivery .. id,
      'tenant', 'endpoint', 'url', 'api_url'))
    if not tenant then return nil end
    local place, secrets, base = address(tenant, endpoint, url, api_url)
    if not place then
      webhooks.finish(id, target, 'failed', secrets)
      return nil
    end
    return {fence = take_off(id, target), is_suspect = is_suspect, url = place, secrets = secrets, api_url = base,
      record = hash_at(W.delivery .. id)}
  end

  local function answered(is_drained)
    if is_drained then redis.call('DEL', W.called) end
    return {status = 'ok', is_drained = is_drained, deliveries = claimed}
  end

  local drops = 0
  while #claimed < call.most and drops < MOST_DROPS do
    local target, is_suspect = next_target()
    if not target then return answered(true) end
    local id = first_due(W.waiting .. target)
    local found
    if id then
      redis.call('ZREM', W.waiting .. target, id)
      found = taken(id, target, is_suspect)
    end
    if found then
      claimed[#claimed + 1] = found
      if is_suspect then suspects = suspects + 1 end
    else
      drops = drops + 1
    end
    webhooks.place(target)
  end
  return answered(false)
end)

-- call: bodies (of each delivery, body)
-- -> ok + bodies: as many, the one that counts: the first one ever given, so that every attempt sends the same bytes; ''
--    where the delivery is forgotten
register('webhook_freeze', function(call)
  local kept = {}
  for i, given in ipairs(call.bodies) do
    local key = W.delivery .. given.delivery
    kept[i] = ''
    if redis.call('EXISTS', key) == 1 then
      kept[i] = given.body
      if redis.call('HSETNX', key, 'body', given.body) == 1 then
        redis.call('HDEL', key, 'facts')
      else
        kept[i] = redis.call('HGET', key, 'body')
      end
    end
  end
  return {status = 'ok', bodies = kept}
end)

-- What one attempt came to; returns the delivery's state, '' if another lease holds it now. Its target has to be placed.
local function settle(verdict)
  local id, fence, retry, pause = verdict.delivery, verdict.fence, verdict.retry_ms, verdict.pause_ms
  local is_gone, attempt, reason = verdict.is_gone, verdict.attempt, verdict.reason
  local key = W.delivery .. id
  local target, endpoint, tenant, state, holder, worker = unpack(redis.call('HMGET', key,
    'target', 'endpoint', 'tenant', 'state', 'fence', 'worker'))

  if not target or holder ~= fence then return '' end
  -- A repeated call.
  if state ~= 'sending' then return state end

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
    if at_ms > known then redis.call('HSET', W.target .. target, 'open_until_ms', text(at_ms)) end
  end

  -- Whether the target has failed for so long that it is given up.
  local function count_failure()
    local failures = redis.call('HINCRBY', W.target .. target, 'failures', 1)
    redis.call('HSETNX', W.target .. target, 'failing_since_ms', text(now))
    if failures >= HOOK.BREAKER_FAILURES then
      local rest_ms = HOOK.FIRST_REST_MS * 2 ^ math.min(failures - HOOK.BREAKER_FAILURES, 10)
      rest_until(now + math.min(rest_ms, HOOK.LONGEST_REST_MS))
    end
    if pause > 0 then rest_until(now + math.min(pause, HOOK.LONGEST_PAUSE_MS)) end
    local since = tonumber(redis.call('HGET', W.target .. target, 'failing_since_ms'))
    return now - since >= HOOK.HOPELESS_MS
  end

  land()
  if verdict.is_delivered then
    redis.call('HSET', W.target .. target, 'proven', '1')
    redis.call('HDEL', W.target .. target, 'failures', 'open_until_ms', 'failing_since_ms')
    webhooks.finish(id, target, 'delivered', '')
  else
    local is_hopeless = count_failure()
    if not retry or is_gone then
      webhooks.finish(id, target, 'failed', reason)
    else
      redis.call('HSET', key, 'reason', reason)
      webhooks.wait(id, target, now + retry)
    end
    if endpoint ~= '' and (is_gone or is_hopeless) then
      webhooks.disable(endpoint, tenant, is_gone and 'gone' or 'failing')
    end
  end
  redis.call('EXPIRE', W.target .. target, HOOK.KEPT_S * 2)
  return redis.call('HGET', key, 'state'), target
end

-- call: verdicts (of each delivery, fence, is_delivered, pause_ms (for which the target wants to be left alone), is_gone
--       (whether the receiver wants nothing any more), attempt (as JSON), reason (of it), retry_ms (until the next
--       attempt, if there is one))
-- -> ok + states: as many, of the deliveries; '' where another lease holds it now
register('webhook_done', function(call)
  local states, targets, is_known = {}, {}, {}
  for i, verdict in ipairs(call.verdicts) do
    local state, target = settle(verdict)
    states[i] = state
    if target and not is_known[target] then
      is_known[target] = true
      targets[#targets + 1] = target
    end
  end
  for _, target in ipairs(targets) do webhooks.place(target) end
  return {status = 'ok', states = states}
end)

-- call: limit, worker (its name, or ''), boot_id (of it)
-- -> ok + count: of the attempts that were given back, those whose lease is over or all that another boot_id of this worker
--    held
-- The receiver may have got them: it will see the same id and the same bytes again.
register('webhook_return', function(call)
  local limit, worker, boot_id = call.limit, call.worker, call.boot_id

  local function overdue()
    return redis.call('ZRANGEBYSCORE', W.flights, '-inf', text(now), 'LIMIT', 0, limit)
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
      if current == fence and state == 'sending' then webhooks.wait(id, target, now) end
      webhooks.place(target)
    end
  end
  return {status = 'ok', count = #flights}
end)

-- call: limit (of targets to look at)
-- -> ok + count: of the deliveries that could be claimed now
register_reader('webhook_due', function(call)
  local count, at = 0, text(now)
  for _, key in ipairs({W.due, W.suspects}) do
    for _, target in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', at, 'LIMIT', 0, call.limit)) do
      local room = (key == W.due and HOOK.MAX_IN_FLIGHT or 1) - redis.call('ZCARD', W.flying .. target)
      count = count + math.max(0, math.min(room, redis.call('ZCOUNT', W.waiting .. target, '-inf', at)))
    end
  end
  return {status = 'ok', count = count}
end)

-- call: delivery, tenant
-- -> ok + record; missing; conflict + state (an attempt is due or under way already)
register('webhook_redeliver', function(call)
  local id, tenant = call.delivery, call.tenant
  local key = W.delivery .. id
  local owner, target, state = unpack(redis.call('HMGET', key, 'tenant', 'target', 'state'))

  if owner ~= tenant then return {status = 'missing'} end
  if state == 'sending' then return {status = 'conflict', state = state} end
  redis.call('HSET', key, 'tries', 0, 'reason', '')
  if state ~= 'pending' then
    redis.call('HDEL', key, 'ended_at_ms')
    redis.call('PERSIST', key)
    redis.call('PERSIST', W.attempts .. id)
    redis.call('ZREM', W.ended .. target, id)
  end
  -- One that waits for its next attempt gets it now.
  webhooks.wait(id, target, now)
  webhooks.place(target)
  return {status = 'ok', record = hash_at(key)}
end)

-- call: endpoint, tenant, call (an id of this call), event
-- -> ok + record (the delivery's); missing; disabled
register('webhook_test', function(call)
  local endpoint, tenant, kind = call.endpoint, call.tenant, call.event
  local target = 'e:' .. endpoint

  local owner, state = unpack(redis.call('HMGET', W.endpoint .. endpoint, 'tenant', 'state'))
  if owner ~= tenant then return {status = 'missing'} end
  if state ~= 'enabled' then return {status = 'disabled'} end
  local id = 'evt_' .. redis.sha1hex(table.concat({kind, call.call, target}, '|'))
  local facts = cjson.encode({endpoint = endpoint, at_ms = now})
  webhooks.add(id, target, '', {'tenant', tenant, 'endpoint', endpoint, 'url', '', 'api_url', '', 'type', kind,
    'facts', facts})
  return {status = 'ok', record = hash_at(W.delivery .. id)}
end)
