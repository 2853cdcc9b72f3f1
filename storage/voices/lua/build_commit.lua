-- ARGV: content, lease (job|item|fence), fence, sha256, bytes, build ms
-- -> ok; gone (nobody wants this content any more); lost (it is somebody else's)
local content, lease, fence = ARGV[1], ARGV[2], tonumber(ARGV[3])
local build = load_build(content)
if not build then return {'gone'} end
if build.version == fence then return {'ok'} end
if build.state ~= 'processing' or build.holder ~= lease then return {'lost'} end
local voice = counted_at(content)
discard_version(build, voice, READING_MS)
save_build(build, {state = 'ready', version = fence, sha256 = ARGV[4], bytes = ARGV[5], build_ms = ARGV[6],
  finished_at_ms = now})
add_stored(build.tenant, 'voices', voice, tonumber(ARGV[5]))
redis.call('HDEL', V.build .. content, 'error')
enqueue_cache_events(build, 'voice.cache.ready', text(fence))
return {'ok'}
