-- ARGV: job, tenant, spec that the caller saw, spec from now on, key sha256 or '', fingerprint, key ttl s, limits,
--       smallest window
-- -> ok + the record; conflict + state; changed; incomplete; mismatch; refused + see `refuse`; gone; missing
local id, tenant, seen, spec = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local job = load_job(id)
if not job or job.tenant ~= tenant then return answer('missing') end
if is_over(job) then return answer('gone') end
local replay = replay_of(job, ARGV[5], ARGV[6])
if replay then return replay end
if redis.call('HGET', K.job .. id, 'spec') ~= seen then return answer('changed') end
local is_complete = job.total > 0 and job.done == job.total
if not is_terminal(job) then
  if job.state == 'cancelling' or not is_complete then return answer('conflict', job.state) end
  remember_call(job, ARGV[5], ARGV[6], ARGV[7])
  if spec ~= seen then
    save(job, {spec = spec})
    assemble_anew(job)
  end
  return answer_job(job)
end
if not is_complete then return answer('incomplete') end
local refusal = admission_refusal(tenant, 0, 0, ARGV[8])
if refusal then return refusal end

remember_call(job, ARGV[5], ARGV[6], ARGV[7])
save(job, {spec = spec})
reopen_job(job, {}, 'assemble', tonumber(ARGV[9]))
return answer_job(job)
