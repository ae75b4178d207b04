#!/bin/sh
# The entry point of the stand-in for MongoDB's image: takes the arguments of mongod that deploy/ gives, checks the key
# file as mongod does, makes the root user in a new data folder, and then serves with authentication.
set -eu
data=/data/db
server=/opt/secantus/secantusdb.scripts/secantusd-rs
key=
for argument in "$@"; do
  [ "${previous:-}" != --keyFile ] || key=$argument
  previous=$argument
done
if [ -n "$key" ]; then
  [ "$(stat -c %u "$key")" = "$(id -u)" ] || { echo "$key: bad file owner" >&2; exit 1; }
  case $(stat -c %a "$key") in *00) ;; *) echo "$key: permissions are too open" >&2; exit 1 ;; esac
fi
common="--storage-path $data --cache-size 256M --log-file-max 64MB --sync-on-commit --log-level WARNING"
if [ ! -e "$data/.made" ] && [ -n "${MONGO_INITDB_ROOT_USERNAME:-}" ]; then
  password=${MONGO_INITDB_ROOT_PASSWORD:-$(cat "$MONGO_INITDB_ROOT_PASSWORD_FILE")}
  # shellcheck disable=SC2086
  "$server" --port 27018 $common &
  pid=$!
  NAME=$MONGO_INITDB_ROOT_USERNAME PASSWORD=$password mongosh --quiet --norc 'mongodb://127.0.0.1:27018/admin?directConnection=true&serverSelectionTimeoutMS=30000' --eval \
    'db.createUser({ user: process.env.NAME, pwd: process.env.PASSWORD, roles: ["root"] })'
  kill "$pid"
  wait "$pid" || true
  touch "$data/.made"
fi
# shellcheck disable=SC2086
exec "$server" --host 0.0.0.0 --port 27017 --auth $common
