-- Streams of live speech that tenants have open: counted as unfinished jobs are, for as long as an API process says so.

-- How many the tenant has open; those whose API process is gone are none any more.
local function open_streams(tenant)
  local key = K.live_streams .. tenant
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now))
  return redis.call('ZCARD', key)
end

-- call: tenant, stream, kept_ms (until the next report), jobs (limit for all)
-- -> ok; refused
register('open_stream', function(call)
  local most = limit_of(call.tenant, 'jobs', call.jobs)
  local held = (tonumber(redis.call('HGET', K.admission .. call.tenant, 'jobs')) or 0) + open_streams(call.tenant)
  if held + 1 > most then return refuse_held(call.tenant, 'jobs', held, most, SHORTEST_WAIT_MS) end
  local key = K.live_streams .. call.tenant
  redis.call('ZADD', key, text(now + call.kept_ms), call.stream)
  redis.call('PEXPIRE', key, text(call.kept_ms))
  return answer('ok')
end)

-- call: process, number (of this report; a repeat has the same), kept_ms, streams (each: tenant, stream, key_id, is_over
--       and, since the last report, segments, characters, audio_ms, engine_ms)
-- -> ok
register('report_streams', function(call)
  local told = K.live_streams_told .. call.process
  if redis.call('GET', told) == call.number then return answer('ok') end
  redis.call('SET', told, call.number, 'PX', text(call.kept_ms))
  for _, each in ipairs(call.streams) do
    local key = K.live_streams .. each.tenant
    if each.is_over then
      redis.call('ZREM', key, each.stream)
    else
      redis.call('ZADD', key, text(now + call.kept_ms), each.stream)
      redis.call('PEXPIRE', key, text(call.kept_ms))
    end
    count_usage({tenant = each.tenant, key_id = each.key_id}, {
      segments = each.segments, characters = each.characters, audio_ms = each.audio_ms, engine_ms = each.engine_ms,
    })
  end
  return answer('ok')
end)
