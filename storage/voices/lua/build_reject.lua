-- ARGV: content, lease (job|item|fence), the version (fence) that was found damaged
-- -> as voice_build_claim
-- Built anew once; what is damaged again is no accident, and somebody has to ask for it.
local content, lease, version = ARGV[1], ARGV[2], tonumber(ARGV[3])
local build = load_build(content)
if not build then return {'unknown'} end
settle(build)
if version > 0 and build.version == version then
  discard_version(build, counted_at(content), READING_MS)
  redis.call('HDEL', V.build .. content, 'version', 'sha256', 'bytes')
  build.version = 0
  if build.state == 'ready' then
    if redis.call('HGET', V.build .. content, 'rejected') then
      end_build(build, {code = 'voice_cache_corrupt', detail = 'the stored cache was damaged, and so was its successor'})
    else
      redis.call('HSET', V.build .. content, 'rejected', '1')
      save_build(build, {state = 'pending'})
    end
  end
end
return claim(build, lease)
