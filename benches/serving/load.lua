-- The requests of wrk, and the figures that it prints.
--
--   wrk … -s load.lua http://PROXY -- PREFIX HOST COUNT ORDER FIRST SEED
--
-- A target is PREFIX and a number below COUNT with seven digits. In PREFIX and HOST, %d is the number
-- modulo HOSTS. ORDER is "random", or "each" for every number in order, from FIRST on. Up to AHEAD
-- requests are built before the measurement. If COUNT_IS_ONE is set in the environment, wrk builds
-- the only request itself without calling this script, which is fastest.

local AHEAD, HOSTS = 1000, 100
local threads = {}

function setup(thread)
  thread:set("number", #threads)
  table.insert(threads, thread)
end

local prefix, host, count, order
local made = {}

local function target(at) return string.format(prefix .. "%07d", at % HOSTS, at) end

local function make(at)
  return "GET " .. target(at) .. " HTTP/1.1\r\nHost: " .. string.format(host, at % HOSTS) .. "\r\n\r\n"
end

function init(args)
  prefix, host, count, order = args[1], args[2], tonumber(args[3]), args[4]
  next_number = tonumber(args[5]) + number * math.floor(count / 2)
  math.randomseed(tonumber(args[6]) + number)
  -- Without a %d for the host, the host would take the place of the page number.
  if not prefix:find("%%d") then
    local fixed = prefix
    target = function(at) return fixed .. string.format("%07d", at) end
  end
  wrk.path, wrk.headers["Host"] = target(0), string.format(host, 0)
  if count <= AHEAD then
    for at = 0, count - 1 do made[at] = make(at) end
  end
end

local function choose()
  local chosen
  if order == "random" then
    chosen = math.random(0, count - 1)
  else
    chosen = next_number % count
    next_number = next_number + 1
  end
  return made[chosen] or make(chosen)
end

-- wrk looks up this name once, before the arguments are known.
if not os.getenv("COUNT_IS_ONE") then request = choose end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nFIGURES {"requests":%d,"bytes":%d,"seconds":%f,"p50":%d,"p99":%d,"failed":%d}\n',
    summary.requests, summary.bytes, summary.duration / 1e6,
    latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
