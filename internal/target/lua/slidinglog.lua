-- One decision of a sliding window log.
--
-- KEYS[1]  the partition: a sorted set with a member for each unit admitted, its score the time in microseconds since the
--          Unix epoch
-- ARGV     the quota; W, the window in microseconds; the cost, at most quota + 1
-- returns  1 or 0; the time of the decision in microseconds; the units inside the window afterwards; the time of the unit
--          that must leave the window before a denied request fits, or -1; the time of the newest unit, or -1
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local quota, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local function score(index)
  return tonumber(redis.call('ZRANGE', KEYS[1], index, index, 'WITHSCORES')[2] or -1)
end

local newest = score(-1)
now = math.max(now, newest)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - window))
local used = redis.call('ZCARD', KEYS[1])
if used + cost > quota then
  local leaves = -1
  if cost <= quota then
    leaves = score(used + cost - quota - 1)
  end
  if used == 0 then
    newest = -1
  end
  return {0, now, used, leaves, newest}
end

local stamp = string.format('%.0f', now)
local same = redis.call('ZCOUNT', KEYS[1], stamp, stamp)
for i = 1, cost do
  redis.call('ZADD', KEYS[1], stamp, stamp .. ':' .. string.format('%.0f', same + i))
end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil(window / 1000) + 1000))
return {1, now, used + cost, -1, now}
