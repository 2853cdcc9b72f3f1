-- What tenants hold and may hold: jobs and voices.

-- The tenant's own limit, or `default`, the one for all; nil is none.
local function limit_of(tenant, name, default)
  return tonumber(redis.call('HGET', K.quotas .. tenant, name) or default) or math.huge
end

-- Tells that a tenant's limit has refused something: once a day (UTC) for each limit, however often it does. name: one
-- of the quotas, as they are kept.
local function enqueue_quota_event(tenant, name, held, most)
  local DAY_S, event = 86400, 'usage.quota_reached'
  if next(webhooks.receivers(tenant, event, false)) == nil then return end
  local period = text(math.floor(now / 1000 / DAY_S))
  local told = K.quota_told .. table.concat({tenant, name, period}, ':')
  if not redis.call('SET', told, 1, 'NX', 'EX', DAY_S) then return end
  local function subject() return table.concat({tenant, name, period}, '|') end
  webhooks.enqueue_webhook(tenant, event, '', false, subject, function()
    return {quota = name, held = held, limit = most, at_ms = now}
  end)
end
