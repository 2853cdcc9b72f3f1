-- ARGV: limit
-- -> ok + tenant|job whose retention is over, oldest first
return answer('ok', unpack(redis.call('ZRANGEBYSCORE', K.retention, '-inf', text(now), 'LIMIT', 0, ARGV[1])))
