#!/usr/bin/env bash
# Laravel's RateLimiter with its file store and one worker (Debian: php-cli, php-illuminate-cache): run.sh PORT [LIMIT] [WINDOW]
dir=$(mktemp -d) && export LIMIT=${2:-5} WINDOW=${3:-2} STORE=$dir
exec php -S "127.0.0.1:$1" "$(dirname "$0")/index.php"
