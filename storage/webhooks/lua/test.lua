-- ARGV: endpoint, tenant, an id of this call, event
-- -> ok + the delivery's record; missing; disabled
local endpoint, tenant, call, kind = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local target = 'e:' .. endpoint

local owner, state = unpack(redis.call('HMGET', W.endpoint .. endpoint, 'tenant', 'state'))
if owner ~= tenant then return {'missing'} end
if state ~= 'enabled' then return {'disabled'} end
local id = 'evt_' .. redis.sha1hex(table.concat({kind, call, target}, '|'))
local facts = cjson.encode({endpoint = endpoint, at_ms = webhooks.now})
webhooks.add(id, target, '', {'tenant', tenant, 'endpoint', endpoint, 'url', '', 'api_url', '', 'type', kind,
  'facts', facts})
return {'ok', redis.call('HGETALL', W.delivery .. id)}
