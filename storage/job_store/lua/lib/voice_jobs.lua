-- Jobs of kind voice_cache: their segments are voices, which fail one by one and are assembled to nothing.

local function is_voice_job(job) return job.kind == 'voice_cache' end

-- Where voices are prepared there are fewer places than slots, and Redis does not know how many. What finds none waits
-- for its next look like any other, and in K.voice_slot_waiters for a voice that leaves, which makes room for the
-- one that came first.

local function admit_waiter(queue) return admit_first(K.voice_slot_waiters .. queue) end

-- After a voice of this job, whatever became of it. Where none waits for a place there may be more than the one that is
-- free now: another voice is opened to see, and waits if there are not.
local function follow_voice(job, least)
  local admitted = admit_waiter(job.queue)
  if admitted ~= job.id then open_window(job, least, admitted and 1 or 2) end
end

-- Ends the job once every voice has its outcome.
local function settle_voices(job)
  if job.done + job.failed < job.total then return end
  if job.failed > 0 then
    local detail = text(job.failed) .. ' of ' .. text(job.total) .. ' voices could not be prepared'
    finish_job(job, 'failed', {code = 'voice_cache_failed', detail = detail})
    return
  end
  if job.state == 'paused' then
    -- Nothing is left that a pause could hold back.
    move(job, 'running')
    event(job, 'job.resumed')
  end
  finish_job(job, 'succeeded')
end
