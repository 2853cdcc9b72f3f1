-- call: epoch (of this audit), tenant, begins, limit (records to look at)
-- -> more; overtaken; done + drift: name, expected, actual of what differs
--
-- Adds up what the tenant's records say they hold, in the order of `place|id`, and compares it with what was counted. What
-- changes in between behind the place it has reached is followed by `add_stored`.
register('stored_bytes_audit', function(call)
  local epoch, tenant, limit = call.epoch, call.tenant, call.limit
  local ABANDONED_S = 600
  local counter_audit = K.stored_bytes_audit .. tenant

  -- Place, where its records are listed, where they are, and what comes behind all of their ids.
  local LISTS = {
    {'dictionaries', P.dictionaries, P.dictionary, '~'},
    {'jobs', K.batches, K.job, 'bat_~'},
    {'jobs', K.jobs, K.job, '~'},
    {'uploads', K.uploads, K.upload, '~'},
    {'voices', V.voices, V.voice, '~'},
  }

  local function caches_of(voice)
    local bytes = 0
    for _, content in ipairs(redis.call('HVALS', V.caches .. voice)) do
      local build = load_build(content)
      if build and counted_at(content) == voice then bytes = bytes + cache_bytes(build) end
    end
    return bytes
  end

  local function bytes_of(place, record, id)
    local bytes = tonumber(redis.call('HGET', record .. id, 'stored_bytes')) or 0
    return place == 'voices' and bytes + caches_of(id) or bytes
  end

  -- The next `limit` records of a list.
  local function add_page(list, after)
    local place, listed, record, last = unpack(LISTS[list])
    local ids = redis.call('ZRANGEBYLEX', listed .. tenant, after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, limit)
    local sum = 0
    for _, id in ipairs(ids) do sum = sum + bytes_of(place, record, id) end
    redis.call('HINCRBY', counter_audit, 'sum:' .. place, text(sum))
    local is_over = #ids < limit
    redis.call('HSET', counter_audit, 'list', is_over and list + 1 or list, 'after', is_over and '' or ids[#ids],
      'reached', place .. '|' .. (is_over and last or ids[#ids]))
  end

  local function compare()
    local drift, is_empty = {}, true
    for _, place in ipairs({'dictionaries', 'jobs', 'uploads', 'voices'}) do
      local expected = tonumber(redis.call('HGET', counter_audit, 'sum:' .. place)) or 0
      local known = tonumber(redis.call('HGET', K.stored .. tenant, place)) or 0
      is_empty = is_empty and expected == 0 and known == 0
      if expected ~= known then
        drift[#drift + 1] = {name = 'stored_bytes:' .. place, expected = expected, actual = known}
      end
    end
    redis.call('DEL', counter_audit)
    if is_empty then redis.call('SREM', K.storers, tenant) end
    return drift
  end

  if call.begins then
    redis.call('DEL', counter_audit)
    redis.call('HSET', counter_audit, 'epoch', epoch, 'list', 1, 'after', '')
  end
  local seen, list, after = unpack(redis.call('HMGET', counter_audit, 'epoch', 'list', 'after'))
  if seen ~= epoch then return {status = 'overtaken'} end
  list = tonumber(list)
  if list > #LISTS then return {status = 'done', drift = compare()} end
  add_page(list, after)
  redis.call('EXPIRE', counter_audit, ABANDONED_S)
  return {status = 'more'}
end)
