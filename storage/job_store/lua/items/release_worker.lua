-- ARGV: worker name, boot_id that lives, max attempts
-- -> ok
local worker, living, max_attempts = ARGV[1], ARGV[2], tonumber(ARGV[3])
local held = redis.call('HGETALL', K.worker .. worker)
for i = 1, #held, 2 do
  if held[i + 1] ~= living then
    local id, item, fence = string.match(held[i], '^([^|]*)|([^|]*)|(%d+)$')
    release_item(id, item, fence, 'worker_died', max_attempts)
  end
end
return answer('ok')
