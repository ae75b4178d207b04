#!/bin/sh
# The command `darkroom` of the image. A file under /run/secrets with the name of a variable becomes that variable, so
# that a secret is neither in a compose file nor in the output of `docker inspect`.
set -eu
for file in /run/secrets/DARKROOM_*; do
  [ -f "$file" ] || continue
  if [ ! -r "$file" ]; then
    echo "darkroom: $file cannot be read by user $(id -u): give its file on the host the mode 0444." >&2
    exit 1
  fi
  value=$(cat "$file")
  export "${file##*/}=$value"
done
# The command that texts show to copy. Process 1 with another command than serve is a container of its own, gone afterwards.
if [ -z "${DARKROOM_COMMAND:-}" ]; then
  DARKROOM_COMMAND=darkroom
  if [ $$ -ne 1 ] || [ "${1:-}" = serve ]; then
    if [ -n "${KUBERNETES_SERVICE_HOST:-}" ]; then DARKROOM_COMMAND="kubectl exec ${HOSTNAME:-POD} -- darkroom"
    else DARKROOM_COMMAND="docker exec ${HOSTNAME:-CONTAINER} darkroom"; fi
  fi
  export DARKROOM_COMMAND
fi
exec node /app/dist/apps/cli/main.js "$@"
