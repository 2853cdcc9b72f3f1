-- ARGV: job, fence, artifacts as JSON, warnings as JSON, what spoke it as JSON, codes of those that an earlier assembly may have left
-- -> ok + the record | lost | aborted
local id, fence, artifacts, warnings = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

-- The keys of artifacts hold the fence. The job may have been reopened since: its artifacts stay until the next ones.
if redis.call('HGET', K.job .. id, 'artifacts') == artifacts then return answer('ok', redis.call('HGETALL', K.job .. id)) end
local job, verdict, worker = resolve(id, 'assemble', fence)
if verdict ~= 'held' then return answer(verdict) end

forget_lease(job, 'assemble', fence, worker)
redis.call('HSET', K.results .. id, 'assemble', 'D' .. fence)
local created = replace_artifacts(job, artifacts)
save(job, {spoken_by = ARGV[5]})
for index = 6, #ARGV do forget_warnings_of(job, ARGV[index]) end
for _, warning in ipairs(cjson.decode(warnings)) do warn(job, warning) end
succeed_with(job, created)
return answer('ok', redis.call('HGETALL', K.job .. id))
