#!/usr/bin/env bash
# Envoy's rate limit service, which is built once, with redis-server, behind nginx, which makes the POST that
# the service understands: run.sh PORT [LIMIT] [WINDOW]. Windows are a second or a minute; of others it is LIMIT / WINDOW a second.
set -eu
bin=${XDG_CACHE_HOME:-$HOME/.cache}/rlcheck-products/envoy-ratelimit dir=$(mktemp -d) limit=${2:-5} window=${3:-2} unit=second
[ -x "$bin/service_cmd" ] || GOBIN=$bin go install -trimpath github.com/envoyproxy/ratelimit/src/service_cmd@v1.4.1-0.20260122083618-3fb702589d36
case $window in 1) ;; 60) unit=minute ;; *) limit=$(((limit + window - 1) / window)) ;; esac
mkdir -p "$dir/data/config"
cat > "$dir/data/config/all.yaml" <<C
domain: all
descriptors: [{key: client, rate_limit: {unit: $unit, requests_per_unit: $limit}}]
C
cat > "$dir/nginx.conf" <<C
daemon off; pid $dir/nginx.pid; error_log $dir/error.log crit; events {}
http { access_log off; client_body_temp_path $dir; proxy_temp_path $dir; fastcgi_temp_path $dir; uwsgi_temp_path $dir; scgi_temp_path $dir;
  server { listen 127.0.0.1:$1; location / {
    proxy_method POST; proxy_set_header Content-Type application/json; proxy_pass http://127.0.0.1:$(($1 + 10001))/json;
    proxy_set_body '{"domain":"all","descriptors":[{"entries":[{"key":"client","value":"\$http_x_api_key"}]}]}';
  } } }
C
trap 'kill $(jobs -p)' EXIT
trap exit TERM INT
redis-server --port $(($1 + 10000)) --bind 127.0.0.1 --save '' --appendonly no --dir "$dir" > "$dir/redis.log" &
until redis-cli -p $(($1 + 10000)) ping > /dev/null 2>&1; do sleep 0.1; done
HOST=127.0.0.1 PORT=$(($1 + 10001)) GRPC_HOST=127.0.0.1 GRPC_PORT=$(($1 + 10002)) DEBUG_HOST=127.0.0.1 DEBUG_PORT=$(($1 + 10003)) \
  RUNTIME_ROOT=$dir RUNTIME_SUBDIRECTORY=data RUNTIME_WATCH_ROOT=false REDIS_SOCKET_TYPE=tcp REDIS_URL=127.0.0.1:$(($1 + 10000)) \
  BACKEND_TYPE=redis USE_STATSD=false LOG_LEVEL=error "$bin/service_cmd" &
nginx -c "$dir/nginx.conf" -e "$dir/error.log" &
wait
