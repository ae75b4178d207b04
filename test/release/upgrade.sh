#!/usr/bin/env bash
# Goal: two releases that are cut as docs/releasing.md says can be installed from their tarballs, and data is upgraded from
# one to the other, on embedded and on shared stores.
# Method: a scratch clone of the committed files, in which 0.2.0 is cut, then 0.3.0 with one more migration of each database;
# both tarballs are installed in empty folders; test/upgrade/upgrade.test.ts of the second one upgrades the first. It takes
# about ten minutes. Everything is in a folder of its own, which is removed at the end.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "upgrade: $1" >&2; exit 1; }

git clone --quiet "$repository" "$work/darkroom"
cd "$work/darkroom"
git config user.name release
git config user.email release@example.com
npm ci --silent

announce() { sed -i "s/^## \[Unreleased\]$/## [Unreleased]\n\n- A scratch change for $1./" CHANGELOG.md; git commit --quiet --all --message "Announce $1"; }
cut_release() {
  echo 'uncommitted' > scratch.txt
  if npm run --silent release:cut -- "$1" > refusal.log 2>&1; then fail 'a tree with changes was cut'; fi
  grep -q 'The working tree has changes' refusal.log || { cat refusal.log >&2; fail 'the refusal does not say why'; }
  rm scratch.txt refusal.log
  npm run --silent release:cut -- "$1"
  git add --all
  git commit --quiet --message "Release $1"
  npm pack --silent --ignore-scripts --pack-destination "$work"
  mkdir "$work/$1"
  (cd "$work/$1" && HOME="$work/$1" npm install --silent --no-audit --no-fund --prefix . "$work/darkroom-server-$1.tgz")
  [ "$("$work/$1/node_modules/.bin/darkroom" --version)" = "$1" ] || fail "the installed program is not $1"
}

announce 0.2.0
cut_release 0.2.0

# What a later release would do: a migration that only adds.
node --input-type=module --eval '
  import { readFileSync, writeFileSync } from "node:fs";
  const edit = (file, from, to) => {
    const text = readFileSync(file, "utf8");
    if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
    writeFileSync(file, text.replace(from, to));
  };
  edit("adapters/sqlite/schema.ts", "\n];\n\n/** Brings the file", "\n  `CREATE INDEX scratch ON boot_leases (remove_at)`,\n];\n\n/** Brings the file");
  const mongo = "adapters/mongo/schema.ts";
  const [, version] = /SCHEMA_VERSION = (\d+);/.exec(readFileSync(mongo, "utf8"));
  edit(mongo, `SCHEMA_VERSION = ${version};`, `SCHEMA_VERSION = ${Number(version) + 1};`);
  edit(mongo, "{ name: \"holds_by_time\"".replaceAll("\"", "\x27"), "{ name: \"scratch\", keys: { scratch: 1 }, why: \"a scratch release\" },\n      { name: \"holds_by_time\"".replaceAll("\"", "\x27"));
'
git commit --quiet --all --message 'Add an index for a scratch release'
announce 0.3.0
cut_release 0.3.0

export TEST_UPGRADE_FROM="$work/0.2.0/node_modules/darkroom-server/dist/apps/cli/main.js"
export TEST_UPGRADE_TO="$work/0.3.0/node_modules/darkroom-server/dist/apps/cli/main.js"
DARKROOM_VERIFY=all npx --no-install mocha --no-enable-source-maps dist/test/upgrade/upgrade.test.js
echo 'upgrade: passed'
