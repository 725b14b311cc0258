#!/usr/bin/env bash
# rack-attack with a memory store and one thread (Debian: puma, ruby-rack-attack, ruby-activesupport): run.sh PORT [LIMIT] [WINDOW]
dir=$(mktemp -d)
cat > "$dir/config.ru" <<R
require 'active_support'
require 'active_support/cache'
require 'rack/attack'
Rack::Attack.cache.store = ActiveSupport::Cache::MemoryStore.new
Rack::Attack.throttle('all', limit: ${2:-5}, period: ${3:-2}) { |r| r.env['HTTP_X_API_KEY'] || r.ip }
Rack::Attack.throttled_responder = lambda { |r| [429, {}, []] }
use Rack::Attack
run lambda { |e| [200, {}, ["ok\n"]] }
R
exec puma -t 1:1 -w 0 -e production -q -b "tcp://127.0.0.1:$1" "$dir/config.ru"
