-- ARGV: job, fence, artifacts as JSON
-- -> ok + the record | lost | aborted
local id, fence, artifacts = ARGV[1], ARGV[2], ARGV[3]

-- The keys of artifacts hold the fence. The job may have been reopened since: its artifacts stay until the next ones.
if redis.call('HGET', K.job .. id, 'artifacts') == artifacts then return answer('ok', redis.call('HGETALL', K.job .. id)) end
local job, verdict, worker = resolve(id, 'assemble', fence)
if verdict ~= 'held' then return answer(verdict) end

forget_lease(job, 'assemble', fence, worker)
redis.call('HSET', K.results .. id, 'assemble', 'D' .. fence)
save(job, {artifacts = artifacts})
if job.state == 'paused' then
  -- Nothing is left that a pause could hold back.
  move(job, 'running')
  event(job, 'job.resumed')
end
for _, artifact in ipairs(cjson.decode(artifacts)) do
  event(job, 'job.artifact.created', {name = artifact.name, artifact_type = artifact.type, bytes = artifact.bytes})
end
finish_job(job, 'succeeded')
return answer('ok', redis.call('HGETALL', K.job .. id))
