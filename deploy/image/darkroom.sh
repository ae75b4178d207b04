#!/bin/sh
# The command `darkroom` of the image. A file under /run/secrets with the name of a variable becomes that variable, so
# that a secret is neither in a compose file nor in the output of `docker inspect`.
set -eu
for file in /run/secrets/DARKROOM_*; do
  [ -f "$file" ] || continue
  value=$(cat "$file")
  export "${file##*/}=$value"
done
exec node /app/dist/apps/cli/main.js "$@"
