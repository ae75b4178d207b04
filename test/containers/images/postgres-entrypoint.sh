#!/bin/sh
# The entry point of the stand-in for PostgreSQL's image: makes a new data folder with the password that deploy/ gives, as
# that image does, and serves with the arguments after `postgres`.
set -eu
programs=/usr/lib/postgresql/15/bin
data=/var/lib/postgresql/15/docker
[ "${1:-}" = postgres ] || exec "$@"
shift
if [ ! -s "$data/PG_VERSION" ]; then
  mkdir -p "$data"
  "$programs/initdb" --pgdata "$data" --username postgres --pwfile "$POSTGRES_PASSWORD_FILE" --encoding UTF8 --locale C.UTF-8 \
    --auth-local trust --auth-host trust
  echo 'host all all all scram-sha-256' >> "$data/pg_hba.conf"
fi
exec "$programs/postgres" -D "$data" -c listen_addresses='*' "$@"
