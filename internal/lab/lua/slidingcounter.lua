-- A sliding window counter: admitted when round(prev * left / window) + cur + cost - 1 < quota, left being the rest of the
-- window.
--
-- Policy   n: the quota; window; x: the phase of the windows, or -1 for windows that begin with a request; y: how the weighted
--          part is rounded, 0 not or down, 1 up, 2 to the nearest
-- State    1: the start of the window, or -1 for none open; 2: the count of the window before; 3: its own count. With windows
--          that begin with a request it is the window of the last counted one, which may be over
local function counter_open(p, s, now)
  s[1], s[2], s[3] = -1, 0, 0
  if p.x >= 0 then
    s[1] = now - (now - p.x) % p.window
  end
end

-- counter_turned returns the start and the counts of the window of now.
local function counter_turned(p, s, now)
  if s[1] >= 0 and now - s[1] >= p.window then
    return s[1] + p.window, s[3], 0
  end
  return s[1], s[2], s[3]
end

algorithms.counter = {
  open = counter_open,

  advance = function(p, s, now)
    if s[1] < 0 or now - s[1] >= 2 * p.window then
      counter_open(p, s, now)
    elseif p.x >= 0 then
      s[1], s[2], s[3] = counter_turned(p, s, now)
    end
  end,

  fits = function(p, s, now, cost)
    local start, prev, cur = counter_turned(p, s, now)
    local room = p.n - cost - cur
    if room < 0 then
      return false
    end
    if prev == 0 then
      return true
    end
    -- Products over 2^53 are rounded, but stay over every bound.
    local weighted = prev * (p.window - (now - start))
    if p.y == 1 then
      return weighted <= room * p.window
    elseif p.y == 2 then
      return 2 * (weighted - room * p.window) < p.window
    end
    return weighted < (room + 1) * p.window
  end,

  charge = function(p, s, now, cost)
    s[1], s[2], s[3] = counter_turned(p, s, now)
    if s[1] < 0 then
      s[1] = now
    end
    s[3] = math.min(s[3] + cost, EXACT - 1)
  end,

  forget = function(p, s, now)
    return math.max(s[1], 0) + 2 * p.window
  end,

  reply = function(p, s, now)
    return counter_turned(p, s, now)
  end,
}
