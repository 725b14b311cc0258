#!/usr/bin/env bash
# products.sh ZOO LIST OUT: starts each product of LIST, asks identify what it is, and judges the preset on it.
# ZOO has a folder with a run.sh PORT LIMIT WINDOW BURST a product, as testdata/products has. A line of LIST is PRODUCT, a tab, the
# preset of 5 requests in 2 seconds (- for none), and where the window is another one a tab and its seconds (see products.tsv). OUT gets the recordings
# and reports. RLCHECK is the command, JOBS how many at once, PORT the port before the first one.
set -u
zoo=$1 list=$2 out=$3 rlcheck=${RLCHECK:-rlcheck}
mkdir -p "$out"
one() {
  name=$1 preset=$2 port=$3 window=$4 url=http://127.0.0.1:$3$(cat "$zoo/$1/path" 2>/dev/null || echo /)
  dir=$out/$name; rm -rf "$dir"; mkdir -p "$dir"
  bash "$zoo/$name/run.sh" "$port" 5 "$window" 5 > "$dir/server.log" 2>&1 & server=$!
  for _ in $(seq 120); do curl -s -o /dev/null -m 2 "$url" && break; sleep 0.5; done
  sleep 3
  key=none clients=() # tollbooth and the service of Envoy limit nobody who has no key
  case $name in tollbooth | envoy-ratelimit) key=header:X-API-Key ;; pocketbase) clients=(--partition address) ;; esac
  denied=429,503; [ "$name" = apache-modevasive ] && denied=403
  "$rlcheck" identify "$url" --partition "$key" --denied $denied --out "$dir/identify" -o json="$dir/identify.json" -q > "$dir/identify.txt" 2>&1 & asked=$!
  [ "$preset" = - ] || "$rlcheck" run builtin:burst builtin:sustained builtin:window-edge builtin:recovery -t "$url" --retries 2 "${clients[@]}" \
    --limit "$preset" --out "$dir/run" -o json="$dir/run.json" > "$dir/run.txt" 2>&1
  wait $asked; kill $server; wait $server 2>/dev/null
  echo "$name done"
}
port=${PORT:-15100}
while IFS=$'\t' read -r name preset window; do
  port=$((port + 10))
  while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-4}" ]; do sleep 1; done
  one "$name" "$preset" $port "${window:-2}" &
done < "$list"
wait
