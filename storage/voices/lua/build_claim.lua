-- ARGV: content, lease (job|item|fence)
-- -> build; ready + version, sha256, bytes; busy; failed + error; unknown
local content, lease = ARGV[1], ARGV[2]
local build = load_build(content)
if not build then return {'unknown'} end
settle(build)
return claim(build, lease)
