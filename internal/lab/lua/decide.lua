local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local cost = tonumber(ARGV[1])

local saved, numbers = redis.call('GET', KEYS[1]), {}
if saved then
  for number in string.gmatch(saved, '%S+') do
    numbers[#numbers + 1] = tonumber(number)
  end
end
-- A clock that went back is taken as the largest time seen.
local last = numbers[1] or now
now = math.max(now, last)

-- reads returns what the clock of p shows at the time.
local function reads(p, time)
  if p.tick == 0 then
    return time
  end
  return time - time % p.tick
end

local policies, logs, allow = {}, 0, true
for i = 2, #ARGV, 9 do
  local p = {
    of = algorithms[ARGV[i]], n = tonumber(ARGV[i + 1]), window = tonumber(ARGV[i + 2]), full = tonumber(ARGV[i + 3]),
    tick = tonumber(ARGV[i + 4]), ban = tonumber(ARGV[i + 5]), all = ARGV[i + 6] == '1', x = tonumber(ARGV[i + 7]),
    y = tonumber(ARGV[i + 8]),
  }
  if ARGV[i] == 'log' then
    logs = logs + 1
    p.key = KEYS[1 + logs]
  end
  local at = 4 * #policies + 1
  local s = {numbers[at + 1] or 0, numbers[at + 2] or 0, numbers[at + 3] or 0, numbers[at + 4] or -1}
  p.now, p.state = reads(p, now), s
  if saved then
    p.of.advance(p, s, p.now, p.now - reads(p, last))
  else
    p.of.open(p, s, p.now)
    changed = true
  end
  p.banned = s[4] >= 0 and p.now - s[4] < p.ban
  p.fits = p.of.fits(p, s, p.now, cost)
  if p.banned or not p.fits then
    allow = false
  end
  policies[#policies + 1] = p
end

local reply = {allow and 1 or 0, now}
local text, forget = {whole(now)}, 0
for _, p in ipairs(policies) do
  local s = p.state
  if not p.banned then
    if p.ban > 0 and not p.fits then
      s[4], changed = p.now, true
    end
    if allow or p.all then
      p.of.charge(p, s, p.now, cost)
      changed = true
    end
    if p.of.refresh and p.of.refresh(p, s, p.now, allow) then
      changed = true
    end
  end
  local a, b, c = p.of.reply(p, s, p.now, cost, allow)
  for _, number in ipairs({a, b, c, s[4]}) do
    reply[#reply + 1] = number
  end
  for _, number in ipairs(s) do
    text[#text + 1] = whole(number)
  end
  local at = p.of.forget(p, s, p.now)
  if at and s[4] >= 0 then
    at = math.max(at, s[4] + p.ban)
  end
  if at and forget then
    forget = math.max(forget, at + p.tick)
  else
    forget = nil
  end
end

if changed then
  -- Kept a second longer than needed, so that the server's own clock of expiry never forgets too early.
  local keep = forget and whole(math.ceil(math.max(forget - now, 0) / 1000) + 1000)
  if keep then
    redis.call('SET', KEYS[1], table.concat(text, ' '), 'PX', keep)
  else
    redis.call('SET', KEYS[1], table.concat(text, ' '))
  end
  for i = 2, #KEYS do
    if keep then
      redis.call('PEXPIRE', KEYS[i], keep)
    end
  end
end
return reply
