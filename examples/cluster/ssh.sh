#!/bin/sh
# ./ssh.sh start SCHEDULER WORKER...     ./ssh.sh stop HOST...     ./ssh.sh print SCHEDULER WORKER...
#
# Starts a scheduler and workers over ssh. Each machine has Demeanor with the extra `cluster` on its PATH, the
# folder of `demeanor cluster certs` as ~/demeanor-certs, and on workers the keys in ~/demeanor-keys.env (KEY=value lines, mode 600).
set -eu
SLOTS=${SLOTS:-4}
PORT=${PORT:-8786}

run() {  # run HOST COMMAND: start it so that it outlives the connection
  if [ "$action" = print ]; then
    printf '%s: %s\n' "$1" "$2"
  else
    ssh -o BatchMode=yes "$1" "nohup sh -c '$2' > demeanor-dask.log 2>&1 < /dev/null & echo \$! > demeanor-dask.pid"
  fi
}

TLS="--tls-ca-file demeanor-certs/cluster.pem --tls-cert demeanor-certs/cluster.pem --tls-key demeanor-certs/cluster.key"

action=${1:?start, stop or print}
shift
case $action in
start | print)
  scheduler=${1:?the host of the scheduler}
  shift
  run "$scheduler" "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=0 DASK_DISTRIBUTED__SCHEDULER__REUSE_BROADCAST_COMM=True exec dask scheduler --protocol tls --port $PORT --no-dashboard $TLS"
  for host in "$@"; do
    run "$host" "set -a; . ./demeanor-keys.env; set +a; exec dask worker tls://$scheduler:$PORT --no-dashboard --no-nanny --nthreads $SLOTS --resources demeanor=$SLOTS $TLS"
  done
  ;;
stop)
  for host in "$@"; do
    ssh -o BatchMode=yes "$host" 'kill "$(cat demeanor-dask.pid)"'
  done
  ;;
*)
  echo "unknown action: $action" >&2
  exit 2
  ;;
esac
