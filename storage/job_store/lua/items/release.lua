-- ARGV: job, item, fence, reason, max attempts. A lease that is not held any more is not an error here.
-- -> ok
release_item(ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]))
return answer('ok')
