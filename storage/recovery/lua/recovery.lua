-- call: jobs
-- -> ok + marked: how many of them have not ended. Their segments are looked for in the store before they are spoken.
register('mark_recovered', function(call)
  local marked = 0
  for _, id in ipairs(call.jobs) do
    local job = load_job(id)
    if job and not is_terminal(job) then
      redis.call('HSET', K.job .. id, 'recovered', 1)
      marked = marked + 1
    end
  end
  return answer('ok', {marked = marked})
end)
