-- ARGV: tenant, voice, then mode|model of each cache; none: all of them
-- -> ok + how many there were; missing
local tenant, voice = ARGV[1], ARGV[2]
local FIRST = 3

if not is_owner(tenant, voice) then return {'missing'} end
local fields = {unpack(ARGV, FIRST)}
if #fields == 0 then fields = redis.call('HKEYS', V.caches .. voice) end
local count = 0
for _, field in ipairs(fields) do count = count + drop_cache(tenant, voice, field, READING_MS) end
return {'ok', count}
