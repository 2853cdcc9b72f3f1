-- ARGV: id, tenant, key of its recording or ''
-- -> ok; missing; cited + how many voices rest on it
local id, tenant, recording = ARGV[1], ARGV[2], ARGV[3]
local key = V.consent .. id

local owner, bytes = unpack(redis.call('HMGET', key, 'tenant', 'stored_bytes'))
if owner ~= tenant then return {'missing'} end
local voices = redis.call('SCARD', V.cited .. id)
if voices > 0 then return {'cited', text(voices)} end
add_stored(tenant, 'consents', id, 0 - (tonumber(bytes) or 0))
if recording ~= '' then discard('k|' .. recording, 0) end
redis.call('ZREM', V.consents .. tenant, id)
redis.call('DEL', key)
return {'ok'}
