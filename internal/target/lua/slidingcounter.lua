-- One decision of a sliding window counter: admitted when prev * (W - x) / W + cur + cost - 1 < quota.
--
-- KEYS[1]  the partition: "START PREV CUR", the start of its window in microseconds since the Unix epoch, the count of the
--          window before, and its own
-- ARGV     the quota; W, the window in microseconds; the cost, at most quota + 1; the phase of the windows in microseconds
-- returns  1 or 0; the time of the decision in microseconds; the start of the window; both counts afterwards
--
-- All numbers that matter are whole and below 2^53, where a double is exact.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local quota, window, cost, phase = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local start, prev, cur = now - (now - phase) % window, 0, 0
local state = redis.call('GET', KEYS[1])
if state then
  local s, p, c = string.match(state, '^(%d+) (%d+) (%d+)$')
  s, p, c = tonumber(s), tonumber(p), tonumber(c)
  if s >= start then
    -- The same window, or one that a clock which went back has seen.
    start, prev, cur, now = s, p, c, math.max(now, s)
  elseif s == start - window then
    prev = c
  end
end

if prev * (window - (now - start)) >= (quota - cur - cost + 1) * window then
  return {0, now, start, prev, cur}
end
cur = cur + cost
redis.call('SET', KEYS[1], string.format('%.0f %.0f %.0f', start, prev, cur), 'PX',
  string.format('%.0f', math.ceil((start + 2 * window - now) / 1000) + 1000))
return {1, now, start, prev, cur}
