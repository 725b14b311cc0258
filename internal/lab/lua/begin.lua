-- One decision of all policies of a limit, in one atomic step: a request is admitted when all admit it, and charged to all, or
-- to none but those that count denied requests.
--
-- KEYS     1: the state, as text: the largest time seen, then for each policy its three numbers and when its ban began (-1 for
--          none); 2 and on: the sorted sets of the logs among the policies
-- ARGV     1: the cost; then for each policy its algorithm, n, window, full, tick, ban, 1 to count denied requests, x, y
-- returns  1 or 0; the time of the decision; for each policy three numbers that its algorithm explains, and when its ban began
--
-- Times are in microseconds, those of the clock since the Unix epoch. All numbers are whole and, where it matters, below 2^53,
-- where a double is exact.
local EXACT = 9007199254740992
local algorithms = {}
local changed = false

local function whole(number)
  return string.format('%.0f', number)
end

-- addmod returns (a + b) mod m of a and b below m.
local function addmod(a, b, m)
  if a >= m - b then
    return a - (m - b)
  end
  return a + b
end

-- mulmod returns a * b mod m where the product is not exact.
local function mulmod(a, b, m)
  local sum = 0
  a = math.fmod(a, m)
  while b > 0 do
    if b % 2 == 1 then
      sum = addmod(sum, a, m)
    end
    a, b = addmod(a, a, m), math.floor(b / 2)
  end
  return sum
end
