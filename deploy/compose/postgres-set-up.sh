#!/bin/sh
# Run in the image of PostgreSQL: waits for the server, and creates Darkroom's database and its user. Safe to run again: if the
# password in the secrets was changed, it is changed in the database. make-secrets.sh gives it no characters that a URL encodes.
set -eu
PGPASSWORD=$(cat /run/secrets/postgres_root_password)
export PGPASSWORD PGHOST=postgres PGUSER=postgres
credentials=$(sed -e 's|^postgres://||' -e 's|@.*||' /run/secrets/postgres_url)

tries=120
until pg_isready --quiet; do
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || { echo "PostgreSQL cannot be reached at $PGHOST." >&2; exit 1; }
  sleep 0.5
done

# REPLICATION is what change streams need.
psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --set=password="${credentials#darkroom:}" <<'SQL'
SELECT 'CREATE ROLE darkroom' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'darkroom') \gexec
ALTER ROLE darkroom LOGIN REPLICATION PASSWORD :'password';
SELECT 'CREATE DATABASE darkroom OWNER darkroom' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'darkroom') \gexec
SQL
echo "the database darkroom and its user are there; the password is the secret's"
