#!/bin/sh
# Replaces the REST processes and workers of compose.yaml without a refused request: after another DARKROOM_VERSION in .env,
# a change in the folder config, or a changed secret of the database. It migrates, starts new containers beside the old ones,
# and stops the old ones once the new ones are ready. The machine needs memory for both meanwhile. To go back, set the
# earlier version and run it again. If new containers do not become ready, it removes them and the old ones stay.
set -eu
cd "$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)"

# How long a new container may take to become ready, in seconds.
ready_within=120
# Longer than the proxy remembers the addresses of a name: `valid` of resolver in compose/proxy.conf.
addresses_known_after=6

compose() { docker compose --progress quiet "$@"; }
running() { compose ps --quiet --status running --status restarting "$service" | sort; }

# Starts as many new containers of the service $1 as there are old ones, which then stop.
replace() {
  service=$1
  old=$(running)
  count=$(printf '%s' "$old" | grep -c . || true)
  if [ "$count" -eq 0 ]; then
    echo "There is no container of $service to replace: start the services with docker compose up --detach --wait." >&2
    exit 1
  fi
  echo "$service: starting $count new containers beside $count old ones"
  trap 'discard; exit 1' INT TERM
  compose up --detach --no-deps --no-recreate --scale "$service=$((count * 2))" "$service"
  for id in $(added); do
    wait_until_ready "$id" || give_up "$id"
  done
  sleep "$addresses_known_after"
  trap - INT TERM
  for id in $old; do
    echo "$service: stopping an old container"
    docker stop "$id" > /dev/null
    docker rm "$id" > /dev/null
  done
}

wait_until_ready() {
  waited=0
  until docker exec "$1" /app/probe.sh /readyz > /dev/null 2>&1; do
    waited=$((waited + 1))
    [ "$waited" -lt "$ready_within" ] || return 1
    sleep 1
  done
}

give_up() {
  docker logs --tail 20 "$1" >&2
  discard
  echo "A new container of $service did not become ready; its last messages are above. The old containers serve on." >&2
  exit 1
}

# The containers of the service that are not old.
added() { running | while read -r id; do case $old in *"$id"*) ;; *) echo "$id" ;; esac; done; }
discard() { for id in $(added); do docker rm --force "$id" > /dev/null; done; }

migrate() { compose run --rm --no-deps migrate; }

# Sets the password of the program's user, if it was changed. An installation with a database of its own lacks this service.
case " $(docker compose config --services | tr '\n' ' ')" in
  *' mongo-set-up '*) compose run --rm --no-deps mongo-set-up ;;
  *' postgres-set-up '*) compose run --rm --no-deps postgres-set-up ;;
esac
migrate
# Workers first: they know the models that new REST processes offer.
replace worker
replace rest
# Takes over what old processes wrote meanwhile.
migrate
compose up --detach --wait --no-deps proxy
echo "All containers of rest and worker are replaced: docker compose exec rest darkroom --version prints their version."
