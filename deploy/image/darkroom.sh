#!/bin/sh
# The command `darkroom` of the image. A file under /run/secrets that bears the name of a variable becomes that variable,
# so that a secret stands neither in a compose file nor in what `docker inspect` shows.
set -eu
for file in /run/secrets/DARKROOM_*; do
  [ -f "$file" ] || continue
  value=$(cat "$file")
  export "${file##*/}=$value"
done
exec node /app/dist/apps/cli/main.js "$@"
