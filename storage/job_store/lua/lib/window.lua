-- The window: how many segments of a job are open, that is ready, under lease or waiting.

local MOST_OPENED = 256 -- segments one call makes ready, which bounds its time
local MOST_WINDOW = 4096 -- open segments of a job, whatever the fleet

-- What the workers of a queue can speak at the same time: slots of those that announced themselves lately.
local function worker_slots(queue)
  local slots = 0
  for _, value in ipairs(redis.call('HVALS', K.worker_slots .. queue)) do
    local count, expires = string.match(value, '^(%d+)|(%d+)$')
    if tonumber(expires) > now then slots = slots + tonumber(count) end
  end
  return slots
end

-- A tenant's jobs together may fill all slots, and half as many wait after them. No job has fewer than `least`: so one
-- job alone keeps the fleet busy, and ten thousand jobs take the memory of `least` each.
local function window_of(job, least)
  local wanted = math.min(math.ceil(worker_slots(job.queue) * 3 / 2), MOST_WINDOW)
  local sharers = math.max(redis.call('LLEN', line_key(job, job.queue)), 1)
  return math.max(least, math.ceil(wanted / sharers))
end

-- Makes the next segments ready, as far as the window allows; at most so many, if a number is given.
local function open_window(job, least, most)
  if job.next >= job.total then return end
  local room = window_of(job, least) - (job.next - job.done - job.failed)
  local count = math.min(room, job.total - job.next, most or MOST_OPENED)
  if count <= 0 then return end
  local items = {}
  for index = job.next, job.next + count - 1 do items[#items + 1] = text(index) end
  make_all_ready(job, items, 'RPUSH')
  save(job, {next = job.next + count})
end
