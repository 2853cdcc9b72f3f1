-- ARGV: worker name, boot_id, lease ms, '1' if a delivery to a suspect may be taken
-- -> delivery + fence, '1' if its target is a suspect, URL, secrets as JSON, API's URL, the record; empty
local worker, boot_id, lease_ms, with_suspects = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local MOST_DROPS = 64 -- deliveries to nobody that are given up by one claim

local function first_due(key)
  return redis.call('ZRANGEBYSCORE', key, '-inf', webhooks.text(webhooks.now), 'LIMIT', 0, 1)[1]
end

local function next_target()
  local target = first_due(W.due)
  if target or not with_suspects then return target, false end
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
  local fence = webhooks.text(redis.call('INCR', W.fence))
  local flight, until_ms = id .. '|' .. fence, webhooks.text(webhooks.now + lease_ms)
  redis.call('ZADD', W.flying .. target, until_ms, flight)
  redis.call('ZADD', W.flights, until_ms, flight)
  redis.call('HSET', W.holder .. worker, flight, boot_id)
  redis.call('HSET', W.delivery .. id, 'state', 'sending', 'fence', fence, 'worker', worker)
  return fence
end

for _ = 1, MOST_DROPS do
  local target, is_suspect = next_target()
  if not target then return {'empty'} end
  local id = first_due(W.waiting .. target)
  if id then
    redis.call('ZREM', W.waiting .. target, id)
    local tenant, endpoint, url, api_url = unpack(redis.call('HMGET', W.delivery .. id,
      'tenant', 'endpoint', 'url', 'api_url'))
    if tenant then
      local place, secrets, base = address(tenant, endpoint, url, api_url)
      if place then
        local fence = take_off(id, target)
        webhooks.place(target)
        return {'delivery', fence, is_suspect and '1' or '', place, secrets, base,
          redis.call('HGETALL', W.delivery .. id)}
      end
      webhooks.finish(id, target, 'failed', secrets)
    end
  end
  webhooks.place(target)
end
return {'empty'}
