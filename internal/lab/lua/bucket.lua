-- A token bucket, GCRA, leaky bucket or queue: the same limiter. Amounts are in microseconds times n, so that n of them come
-- back each microsecond and one unit is a window of them.
--
-- Policy   n, window, full: the most units at once; x: the units missing at the start; y: how much comes back at a time (0: continuously)
-- State    1: how much is taken; 2: what has come back since the last time something was added (below y)
algorithms.bucket = {
  open = function(p, s)
    s[1], s[2] = p.x * p.window, 0
  end,

  advance = function(p, s, now, past)
    local gain = past * p.n
    if p.y == 0 then
      -- A product over 2^53 is rounded, but stays over what can be taken.
      if gain >= s[1] then s[1] = 0 else s[1] = s[1] - gain end
    elseif gain + s[2] < EXACT then
      local into = math.fmod(gain + s[2], p.y)
      s[1], s[2] = math.max(0, s[1] - (gain + s[2] - into)), into
    else
      -- More came back than was ever taken: full and y together are below 2^53. Only the rhythm is left.
      s[1], s[2] = 0, addmod(mulmod(past, p.n, p.y), s[2], p.y)
    end
  end,

  fits = function(p, s, now, cost)
    return cost <= p.full and s[1] <= (p.full - cost) * p.window
  end,

  charge = function(p, s, now, cost)
    s[1] = math.min(p.full * p.window, s[1] + math.min(cost, p.full) * p.window)
  end,

  -- Returns when the state may be forgotten, or nil for never.
  forget = function(p, s, now)
    if p.x == 0 and p.y == 0 then
      return now + math.ceil(s[1] / p.n)
    end
  end,

  reply = function(p, s)
    return s[1], s[2], 0
  end,
}
