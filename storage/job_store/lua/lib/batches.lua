-- Batches. Their items are shards of lines that become jobs, which name the batch; the batch has succeeded once all
-- lines have become jobs and all of these have ended. Jobs that go on after their end are not counted again.

local function settle_batch(id)
  local batch = load_job(id)
  if batch and batch.state == 'cancelling' then
    settle_cancellation(batch)
    return
  end
  if not batch or is_terminal(batch) or batch.total == 0 or batch.done < batch.total then return end
  local lines, ended = unpack(redis.call('HMGET', K.job .. id, 'lines', 'ended'))
  if (tonumber(ended) or 0) < tonumber(lines) then return end
  if batch.state == 'paused' then move(batch, 'running') end
  finish_job(batch, 'succeeded')
end

count_child = function(job)
  local record = K.job .. job.batch
  if redis.call('EXISTS', record) == 0 or redis.call('HSETNX', K.job .. job.id, 'counted', 1) == 0 then return end
  redis.call('HINCRBY', record, 'ended', 1)
  redis.call('HINCRBY', record, 'ended_' .. job.state, 1)
  settle_batch(job.batch)
end
