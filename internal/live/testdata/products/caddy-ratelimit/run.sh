#!/usr/bin/env bash
# Caddy with mholt/caddy-ratelimit, which is built once: run.sh PORT [LIMIT] [WINDOW]
set -eu
bin=${XDG_CACHE_HOME:-$HOME/.cache}/rlcheck-products/caddy dir=$(mktemp -d)
[ -x "$bin" ] || go run github.com/caddyserver/xcaddy/cmd/xcaddy@v0.4.5 build v2.11.9 \
  --with github.com/mholt/caddy-ratelimit@v0.1.0 --output "$bin"
cat > "$dir/Caddyfile" <<C
{
  admin off
  auto_https off
  persist_config off
  order rate_limit before respond
}
http://:$1 {
  bind 127.0.0.1
  rate_limit {
    zone all {
      key {http.request.header.X-API-Key}
      events ${2:-5}
      window ${3:-2}s
    }
  }
  respond "ok"
}
C
exec env HOME="$dir" XDG_DATA_HOME="$dir" XDG_CONFIG_HOME="$dir" "$bin" run --config "$dir/Caddyfile" --adapter caddyfile
