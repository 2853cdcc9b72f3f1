-- ARGV: tenant, endpoint ('' for the secret of URLs that jobs name), a new sealed secret, overlap s ('' to rotate
-- nothing: the new one counts only where there is none yet)
-- -> ok + the secrets as JSON, the current one first; missing
local tenant, endpoint, sealed, overlap = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local key = endpoint == '' and W.secrets .. tenant or W.endpoint .. endpoint

if endpoint ~= '' and redis.call('HGET', key, 'tenant') ~= tenant then return {'missing'} end
local known = redis.call('HGET', key, 'secrets')
if known and overlap == '' then return {'ok', known} end
local kept = {{sealed = sealed}}
for _, secret in ipairs(known and cjson.decode(known) or {}) do
  -- A repeated call: secrets are drawn once.
  if secret.sealed == sealed then return {'ok', known} end
  local until_ms = math.min(secret.until_ms or math.huge, webhooks.now + tonumber(overlap) * 1000)
  if until_ms > webhooks.now and #kept < HOOK.MAX_SECRETS then
    kept[#kept + 1] = {sealed = secret.sealed, until_ms = until_ms}
  end
end
local text = cjson.encode(kept)
redis.call('HSET', key, 'secrets', text)
return {'ok', text}
