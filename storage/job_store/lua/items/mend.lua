-- ARGV: job, fence of the assembly, most times of one run, warnings as a JSON list: one for each damaged segment
-- -> ok | exhausted | lost | aborted
-- What the store has lost of segments that were done is spoken again, as the same takes; the assembly goes back for it.
local id, fence, most = ARGV[1], ARGV[2], tonumber(ARGV[3])
local job, verdict, worker = resolve(id, 'assemble', fence)
if verdict ~= 'held' then return answer(verdict) end
if redis.call('HINCRBY', K.job .. id, 'mends', 1) > most then return answer('exhausted') end

forget_lease(job, 'assemble', fence, worker)
redis.call('HDEL', K.tries .. id, 'assemble')
save(job, {phase = 'synthesizing'})
for _, warning in ipairs(cjson.decode(ARGV[4])) do
  local item = text(warning.segment)
  if take_back_result(job, item) then
    redis.call('HDEL', K.tries .. id, item)
    count_admission(job, 0, job.cost_ms)
    count_flow(job, 'in', job.cost_ms)
    save(job, {out_ms = job.out_ms - job.cost_ms, credit_ms = job.credit_ms - job.cost_ms})
    warn(job, warning)
    make_ready(job, item, 'LPUSH')
  end
end
return answer('ok')
