-- A fixed window.
--
-- Policy   n: the quota; window; x: the phase of the windows, or -1 for windows that begin with a request; y: which requests
--          start such a window anew, 0 none, 1 those that are admitted, 2 all
-- State    1: the start of the window, or when it was last started anew, or -1 for none open; 2: its count
local function window_start(p, now)
  if p.x < 0 then
    return -1
  end
  return now - (now - p.x) % p.window
end

algorithms.fixed = {
  open = function(p, s, now)
    s[1], s[2] = window_start(p, now), 0
  end,

  advance = function(p, s, now)
    if s[1] < 0 or now - s[1] >= p.window then
      s[1], s[2] = window_start(p, now), 0
    end
  end,

  fits = function(p, s, now, cost)
    return cost <= p.n - s[2]
  end,

  charge = function(p, s, now, cost)
    if s[1] < 0 then
      s[1] = now
    end
    s[2] = s[2] + math.min(cost, p.n - s[2])
  end,

  refresh = function(p, s, now, allow)
    if s[1] < 0 or p.y == 0 or p.y == 1 and not allow then
      return false
    end
    s[1] = now
    return true
  end,

  forget = function(p, s, now)
    return math.max(s[1], 0) + p.window
  end,

  reply = function(p, s)
    return s[1], s[2], 0
  end,
}
