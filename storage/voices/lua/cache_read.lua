-- ARGV: tenant, then voice|mode|model of each cache
-- -> for each that there is: {its name, its content, the record}
local tenant = ARGV[1]
local rows = {}
for i = 2, #ARGV do
  local voice, field = string.match(ARGV[i], '^([^|]*)|(.*)$')
  local content = redis.call('HGET', V.caches .. voice, field)
  local build = content and load_build(content)
  if build and build.tenant == tenant then
    settle(build)
    rows[#rows + 1] = {ARGV[i], content, redis.call('HGETALL', V.build .. content)}
  end
end
return rows
