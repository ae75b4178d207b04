#!/usr/bin/env bash
# Goal: somebody who follows the README gets a first picture, by curl and by the command line, and one clear line when it fails.
# Method: the README's own commands, taken from its sh blocks, in a fresh home and data folder on a free port; the program
# must be built. Everything started here is stopped here.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
home=$(mktemp -d)
server=''

leave() {
  if [ -n "$server" ]; then kill "$server" 2> "$home/kill.log" || true; wait "$server" || true; fi
  rm -rf "$home"
}
trap leave EXIT

fail() { echo "walk: $1" >&2; tail -n 20 "$home/serve.log" >&2 || true; exit 1; }

# The README's sh blocks that hold $1.
blocks() {
  awk -v wanted="$1" '/^```sh$/ { inside = 1; text = ""; next }
    /^```$/ { if (inside && index(text, wanted)) printf "%s", text; inside = 0 }
    inside { text = text $0 "\n" }' "$repository/README.md"
}

# Tries $2… every fifth of a second, 30 seconds at most.
await() {
  local what=$1; shift
  for _ in $(seq 150); do if "$@"; then return 0; fi; sleep 0.2; done
  fail "$what"
}

port=$(node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })")
# Nothing of npm's own to say, and no network for it: npx runs what is installed or fails.
export npm_config_update_notifier=false npm_config_yes=false
export HOME="$home" DARKROOM_REST_PORT="$port" DARKROOM_DATA_FOLDER="$home/data"
# The last one is of tests; the program refuses variables that it does not know.
unset DARKROOM_PROFILE DARKROOM_URL DARKROOM_API_KEY DARKROOM_CONFIG XDG_CONFIG_HOME DARKROOM_VERIFY
cd "$repository"

# `npm start` builds, then runs this; started without npm, it is ours to stop.
grep -q '"start": "exec node dist/apps/cli/main.js serve"' package.json || fail 'npm start is something else now'
node dist/apps/cli/main.js serve > "$home/serve.out" 2> "$home/serve.log" &
server=$!
await 'the service did not start' grep -q 'Serving on' "$home/serve.out"

# What is saved goes to the fresh folder, and npx finds the program from there.
cd "$home"
mkdir -p node_modules/.bin
ln -s "$repository/dist/apps/cli/main.js" node_modules/.bin/darkroom
chmod +x "$repository/dist/apps/cli/main.js"

# With curl; the port is the free one. Without a terminal the service has written the key to a file, and shows it to
# nobody. The README reads the key from there once, as the file is deleted after the first use.
! grep -q 'svc_live_' "$home/serve.out" "$home/serve.log" || fail 'the key was shown to no terminal'
blocks 'data/first-key' > by-curl.sh
blocks 'first-picture.png' | sed "s/:8080/:$port/" > request.sh
for part in '/generations' 'Prefer: wait' first-picture.png; do grep -qF -- "$part" request.sh || fail "the README has no request with $part any more"; done

# With a wrong key, and without a service: one line that says so, no picture, and no success.
refused() {
  if DARKROOM_API_KEY=svc_live_wrong timeout 30 bash request.sh > refused.out 2> refused.err; then fail "$1: the README's request succeeded"; fi
  [ ! -s refused.out ] && [ "$(wc -l < refused.err)" -eq 1 ] && grep -q "$2" refused.err || { cat refused.out refused.err >&2; fail "$1 is not one line that says so"; }
  [ ! -e first-picture.png ] || fail "$1: there is a picture"
}
refused 'a wrong key' '^The credential is not valid\.$'
sed -i "s/:$port/:1/" request.sh
refused 'a port without a service' '^curl: (7) '
sed -i "s/:1/:$port/" request.sh
[ -e data/first-key ] || fail 'the file of the first key was deleted without a use'

cat request.sh >> by-curl.sh
timeout 300 bash -euo pipefail by-curl.sh || fail 'the README by curl'
[ ! -e data/first-key ] || fail 'the file of the first key was not deleted after its first use'
grep -q 'first key deleted' serve.log || fail 'the log does not say that the file of the first key was deleted'

# By the command line, with the key that the first start has kept.
blocks 'npx darkroom credits' > by-command.sh
[ "$(grep -c 'npx darkroom generate' by-command.sh)" -eq 2 ] || fail 'the README has other commands now'
timeout 300 bash -euo pipefail by-command.sh > by-command.out || fail 'the README by command'

is_png() { [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]; }
is_png first-picture.png || fail 'first-picture.png is no PNG'
is_png lighthouse.png || fail 'lighthouse.png is no PNG'
[ "$(head -c 8 lighthouse.mp4 | tail -c 4)" = ftyp ] || fail 'lighthouse.mp4 is no MP4'

# A cancelled one costs nothing.
before=$(npx darkroom credits)
id=$(npx darkroom generate 'never' --model sandbox-test --param behaviour=hang --no-wait --json | sed -n 's/.*"generation_id": *"\([^"]*\)".*/\1/p' | head -n 1)
[ -n "$id" ] || fail 'no generation to cancel'
npx darkroom cancel "$id" > cancel.out || fail 'cancel'
is_cancelled() { npx darkroom status "$id" --json | grep -q '"status": *"cancelled"'; }
await 'the generation was not cancelled' is_cancelled
is_given_back() { [ "$(npx darkroom credits)" = "$before" ]; }
await 'the cancelled generation was charged' is_given_back

kill -TERM "$server"
wait "$server" || fail "the service ended with $?"
server=''
echo 'walk: passed'
