-- ARGV: job, fence, artifacts as JSON
-- -> ok | lost | aborted
-- The plan was all that was wanted: nothing is spoken, and no plan is left for a later run to go on with.
local id, fence, artifacts = ARGV[1], ARGV[2], ARGV[3]

-- The key of the artifact holds the fence.
if redis.call('HGET', K.job .. id, 'artifacts') == artifacts then return answer_again(id) end
local job, verdict, worker = resolve(id, 'plan', fence)
if verdict ~= 'held' then return answer(verdict) end

forget_lease(job, 'plan', fence, worker)
redis.call('HSET', K.results .. id, 'plan', 'D' .. fence)
replace_artifacts(job, artifacts)
if job.state == 'paused' then
  -- Nothing is left that a pause could hold back.
  move(job, 'running')
  event(job, 'job.resumed')
end
for _, artifact in ipairs(cjson.decode(artifacts)) do
  event(job, 'job.artifact.created', {name = artifact.name, artifact_type = artifact.type, bytes = artifact.bytes})
end
finish_job(job, 'succeeded')
return answer('ok')
