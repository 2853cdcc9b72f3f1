-- ARGV: content, lease (job|item|fence), code, detail
-- -> ok; gone; lost
-- A version that was built before stays served.
local content, lease = ARGV[1], ARGV[2]
local build = load_build(content)
if not build then return {'gone'} end
if build.failed == lease then return {'ok'} end
if build.state ~= 'processing' or build.holder ~= lease then return {'lost'} end
save_build(build, {failed = lease})
end_build(build, {code = ARGV[3], detail = ARGV[4]})
return {'ok'}
