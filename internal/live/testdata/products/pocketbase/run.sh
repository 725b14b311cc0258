#!/usr/bin/env bash
# PocketBase, which is built once, with a rate limit as its settings have it: run.sh PORT [LIMIT] [WINDOW]. The client is its address.
set -eu
bin=${XDG_CACHE_HOME:-$HOME/.cache}/rlcheck-products/pocketbase dir=$(mktemp -d) url=http://127.0.0.1:$1 who=me@here.test word=1234567890
[ -x "$bin/base" ] || GOBIN=$bin go install -trimpath github.com/pocketbase/pocketbase/examples/base@v0.28.4
"$bin/base" superuser upsert $who $word --dir "$dir" > /dev/null
(
  until curl -s -o /dev/null "$url/api/health"; do sleep 0.2; done
  token=$(curl -s "$url/api/collections/_superusers/auth-with-password" -d identity=$who -d password=$word |
    sed 's/.*"token":"\([^"]*\)".*/\1/')
  curl -s -o /dev/null -X PATCH "$url/api/settings" -H "Authorization: $token" -H 'Content-Type: application/json' \
    -d "{\"rateLimits\": {\"enabled\": true, \"rules\": [{\"label\": \"/api/\", \"maxRequests\": ${2:-5}, \"duration\": ${3:-2}}]}}"
) &
exec "$bin/base" serve --http "127.0.0.1:$1" --dir "$dir"
