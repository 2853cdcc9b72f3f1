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
local created = replace_artifacts(job, artifacts)
succeed_with(job, created)
return answer('ok')
