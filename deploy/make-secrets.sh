#!/bin/sh
# Creates the secrets that deploy/compose.yaml and deploy/compose.postgres.yaml mount, in deploy/secrets, once: existing files stay unchanged. Compose
# mounts the files with the owner that they have here, so all users may read them, in a folder that only you may enter.
set -eu
folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)/secrets
umask 077
mkdir -p "$folder"
chmod 700 "$folder"

random() { od -An -v -tx1 -N "$1" /dev/urandom | tr -d ' \n'; }

# Writes $2 to the secret $1 if it does not exist. The write is atomic.
keep() {
  [ -s "$folder/$1" ] && return 0
  printf '%s' "$2" > "$folder/$1.new"
  chmod 444 "$folder/$1.new"
  mv "$folder/$1.new" "$folder/$1"
  echo "made $folder/$1"
}

keep installation_secret "$(random 32)"
keep mongo_root_password "$(random 24)"
keep mongo_keyfile "$(random 256)"
keep mongo_url "mongodb://darkroom:$(random 24)@mongo:27017/?authSource=darkroom&replicaSet=rs0"
keep postgres_root_password "$(random 24)"
keep postgres_url "postgres://darkroom:$(random 24)@postgres:5432/darkroom?sslmode=disable"
keep objects_access_key "$(random 10)"
keep objects_secret_key "$(random 24)"
