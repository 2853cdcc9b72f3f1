-- Workers that are on the way to another model: one at a time for each, so that one job does not move all of them.

local function swap_of(queue)
  local value = redis.call('HGET', K.swaps, queue)
  if not value then return nil end
  local worker, began_ms, until_ms = string.match(value, '^(.*)|(%d+)|(%d+)$')
  if tonumber(until_ms) <= now then return nil end
  return {worker = worker, began_ms = tonumber(began_ms)}
end

local function note_swap(queue, worker, began_ms, for_ms)
  redis.call('HSET', K.swaps, queue, worker .. '|' .. text(began_ms) .. '|' .. text(now + for_ms))
end

-- call: queue (of the model), worker (its name), ttl_ms (for which nobody else begins, unless it is said again)
-- -> ok; taken (another worker is on the way, or one could not load the model a while ago)
register('begin_swap', function(call)
  local swap = swap_of(call.queue)
  if swap and swap.worker ~= call.worker then return answer('taken') end
  note_swap(call.queue, call.worker, swap and swap.began_ms or now, call.ttl_ms)
  return answer('ok')
end)

-- call: queue, worker, rest_ms (for which nobody tries again; 0 for one that is there)
-- -> ok + took_ms (since it began; -1 if it was not on the way)
register('end_swap', function(call)
  local swap = swap_of(call.queue)
  if not swap or swap.worker ~= call.worker then return answer('ok', {took_ms = -1}) end
  if call.rest_ms > 0 then
    note_swap(call.queue, '', now, call.rest_ms)
  else
    redis.call('HDEL', K.swaps, call.queue)
  end
  return answer('ok', {took_ms = now - swap.began_ms})
end)

-- call: worker, queue (that it serves now)
-- -> ok + is_arriving (whether it was on the way there). Wherever else it was on the way to, it is not any more.
register('resume_swap', function(call)
  local is_arriving = false
  for _, queue in ipairs(redis.call('HKEYS', K.swaps)) do
    local swap = swap_of(queue)
    if not swap or (swap.worker == call.worker and queue ~= call.queue) then
      redis.call('HDEL', K.swaps, queue)
    elseif swap.worker == call.worker then
      is_arriving = true
    end
  end
  return answer('ok', {is_arriving = is_arriving})
end)
