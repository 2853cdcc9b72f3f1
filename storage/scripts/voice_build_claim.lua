-- ARGV: content, lease (job|item|fence)
-- -> build; ready + version, sha256, bytes; busy; failed + error; unknown
local content, lease = ARGV[1], ARGV[2]
local build = load_build(content)
if not build then return {'unknown'} end
settle(build)
if build.state == 'ready' then
  return {'ready', unpack(redis.call('HMGET', V.build .. content, 'version', 'sha256', 'bytes'))}
end
if build.state == 'failed' then return {'failed', redis.call('HGET', V.build .. content, 'error')} end
if build.state == 'processing' then return {build.holder == lease and 'build' or 'busy'} end
save_build(build, {state = 'processing', holder = lease})
redis.call('HINCRBY', V.build .. content, 'attempts', 1)
return {'build'}
