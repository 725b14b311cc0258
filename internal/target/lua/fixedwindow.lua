-- One decision of a fixed window.
--
-- KEYS[1]  the partition: "START USED", the start of its window in microseconds since the Unix epoch, and its count
-- ARGV     the quota; W, the window in microseconds; the cost, at most quota + 1; the phase of the windows in microseconds,
--          or -1 for windows that begin with a request; 1 to count denied requests
-- returns  1 or 0; the time of the decision in microseconds; the start of the window, or -1 for none; its count afterwards
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local quota, window, cost, phase = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local start, used = -1, 0
if phase >= 0 then
  start = now - (now - phase) % window
end
local state = redis.call('GET', KEYS[1])
if state then
  local s, u = string.match(state, '^(%d+) (%d+)$')
  s = tonumber(s)
  -- A clock that went back stays in the window that it has seen.
  if now - s < window then
    start, used = s, tonumber(u)
  end
end

local allow = 0
if used + cost <= quota then
  allow = 1
end
if allow == 1 or ARGV[5] == '1' then
  if start < 0 then
    start = now
  end
  used = math.min(used + cost, quota)
  redis.call('SET', KEYS[1], string.format('%.0f %.0f', start, used), 'PX', string.format('%.0f', math.ceil((start + window - now) / 1000) + 1000))
end
return {allow, now, start, used}
