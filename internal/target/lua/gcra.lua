-- One decision of a token bucket, GCRA or leaky bucket: the three are the same limiter.
--
-- KEYS[1]  the partition: "Q F", its theoretical arrival time, Q microseconds and F of N parts of one since the Unix epoch
-- ARGV     N, the units a window; W, the window in microseconds; the burst; the cost, at most burst + 1
-- returns  1 or 0; the time of the decision in microseconds; how far the theoretical arrival time is ahead of it
--          afterwards, in microseconds times N
--
-- All numbers that matter are whole and below 2^53, where a double is exact.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local n, window, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local ahead = 0
local state = redis.call('GET', KEYS[1])
if state then
  local q, f = string.match(state, '^(%d+) (%d+)$')
  q = tonumber(q)
  if q >= now then
    ahead = (q - now) * n + tonumber(f)
  end
end

local after = ahead + cost * window
if after > burst * window then
  return {0, now, ahead}
end
local parts = after % n
local whole = (after - parts) / n
-- Kept a second longer than needed, so that the store's own clock of expiry never forgets too early.
redis.call('SET', KEYS[1], string.format('%.0f %.0f', now + whole, parts), 'PX', string.format('%.0f', math.ceil(whole / 1000) + 1000))
return {1, now, after}
