-- ARGV: job, fence, plan key, segments, estimated audio ms, smallest window, characters of the text or '' (as known),
--       bytes of what was stored, warnings as a JSON list, the text's first words or ''
-- -> ok | lost | aborted
local id, fence, plan_key = ARGV[1], ARGV[2], ARGV[3]
local total, estimate, window = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local result = 'D' .. fence .. ':' .. ARGV[4] .. ':' .. ARGV[5] .. ':' .. plan_key

if redis.call('HGET', K.results .. id, 'plan') == result then return answer_again(id) end
local job, verdict, worker = resolve(id, 'plan', fence)
if verdict ~= 'held' then return answer(verdict) end

forget_lease(job, 'plan', fence, worker)
redis.call('HSET', K.results .. id, 'plan', result)
local change = estimate - job.estimated_audio_ms
count_admission(job, 0, change)
count_flow(job, 'in', change)
local changes = {
  plan_key = plan_key, total = total, next = 0, phase = 'synthesizing',
  estimated_audio_ms = estimate, cost_ms = math.floor(estimate / total),
}
if ARGV[7] ~= '' then changes.input_chars = tonumber(ARGV[7]) end
if ARGV[10] ~= '' then changes.first_words = ARGV[10] end
save(job, changes)
count_stored(job, tonumber(ARGV[8]))
for _, warning in ipairs(cjson.decode(ARGV[9])) do warn(job, warning) end
-- Of voices, as many as there are places for are found out one by one.
open_window(job, window, is_voice_job(job) and window or nil)
return answer('ok')
