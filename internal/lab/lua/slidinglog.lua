-- A sliding window log. Its entries are in a sorted set of its own: a member TIME:UNITS for each instant at which something
-- was counted, its score the time.
--
-- Policy   n: the quota; x: how long an entry counts
-- State    1: the units inside the window; 2: the time of the newest entry
local function units_of(member)
  return tonumber(string.match(member, ':(%d+)$'))
end

local function add_entry(p, at, units)
  redis.call('ZADD', p.key, whole(at), whole(at) .. ':' .. whole(units))
end

-- log_first returns the member and the score of the oldest entry.
local function log_first(p)
  local e = redis.call('ZRANGE', p.key, 0, 0, 'WITHSCORES')
  return e[1], tonumber(e[2])
end

-- log_trim drops the oldest units over the quota.
local function log_trim(p, s)
  while s[1] > p.n do
    local member, at = log_first(p)
    local units, over = units_of(member), s[1] - p.n
    redis.call('ZREM', p.key, member)
    if units > over then
      add_entry(p, at, units - over)
    end
    s[1] = s[1] - math.min(units, over)
  end
end

algorithms.log = {
  open = function(p, s)
    redis.call('DEL', p.key)
    s[1], s[2] = 0, -1
  end,

  advance = function(p, s, now)
    local until_ = whole(now - p.x)
    local gone = redis.call('ZRANGEBYSCORE', p.key, '-inf', until_)
    if #gone > 0 then
      for _, member in ipairs(gone) do
        s[1] = s[1] - units_of(member)
      end
      redis.call('ZREMRANGEBYSCORE', p.key, '-inf', until_)
      changed = true
    end
    -- Where a server with too little memory has dropped the set, nothing is counted any more.
    if s[1] > 0 and redis.call('EXISTS', p.key) == 0 then
      s[1] = 0
    end
  end,

  fits = function(p, s, now, cost)
    return cost <= p.n - s[1]
  end,

  charge = function(p, s, now, cost)
    local units = math.min(cost, p.n)
    local same = 0
    if s[1] > 0 and s[2] == now then
      local last = redis.call('ZRANGE', p.key, -1, -1)[1]
      same = units_of(last)
      redis.call('ZREM', p.key, last)
    end
    add_entry(p, now, same + units)
    s[1], s[2] = s[1] + units, now
    log_trim(p, s)
  end,

  forget = function(p, s, now)
    return math.max(s[2], 0) + p.x
  end,

  -- Returns the units, the time of the newest entry, and that of the entry that must leave before a denied request fits; -1
  -- for none. Every entry is a unit or more, so no more entries than units must leave.
  reply = function(p, s, now, cost, allow)
    if s[1] == 0 then
      return 0, -1, -1
    end
    local leaves, room = -1, p.n - s[1]
    if not allow and cost <= p.n and cost > room then
      local entries = redis.call('ZRANGE', p.key, 0, whole(cost - room - 1), 'WITHSCORES')
      for i = 1, #entries, 2 do
        leaves, room = tonumber(entries[i + 1]), room + units_of(entries[i])
        if cost <= room then
          break
        end
      end
    end
    return s[1], s[2], leaves
  end,
}
