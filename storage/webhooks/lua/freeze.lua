-- ARGV: delivery, body
-- -> the body that counts: the first one ever given, so that every attempt sends the same bytes; nil if it is gone
local id = ARGV[1]
if redis.call('EXISTS', W.delivery .. id) == 0 then return {} end
if redis.call('HSETNX', W.delivery .. id, 'body', ARGV[2]) == 1 then redis.call('HDEL', W.delivery .. id, 'facts') end
return {redis.call('HGET', W.delivery .. id, 'body')}
