#!/bin/sh
# Poll the kernel's TCP state with ss, in the best format for `./reproduce import`: the clock, then one line per socket.
#
#   scripts/poll_ss.sh [PORT [INTERVAL_S]] > ss.log      # sockets with PORT at either end (default: all), every 0.1 s
#
# Run it at the sender, before the flows start; it needs only ss (iproute2) and GNU date. It ends with the shell or
# script that started it, when its output is closed, and at Ctrl-C. It never leaves a partial poll.
port=${1:-} interval_s=${2:-0.1}

die() {
    echo "poll_ss.sh: $1" >&2
    exit 2
}

case $port in *[!0-9]*) die "PORT must be a number, not '$port'" ;; esac
case $interval_s in '' | . | *[!0-9.]* | *.*.*) die "INTERVAL_S must be a number of seconds, not '$interval_s'" ;; esac
command -v ss >/dev/null || die "ss is not installed; install iproute2"
case $(date +%N) in [0-9]*) ;; *) die "date does not support fractions of a second (%N); install GNU coreutils" ;; esac

filter='state connected exclude time-wait'
[ -z "$port" ] || filter="$filter ( sport = :$port or dport = :$port )"
options=-tinOHe # iproute2 before 5.1 may lack -O or -H: then several lines per socket
# shellcheck disable=SC2086 # the filter is words
ss $options $filter >/dev/null 2>&1 || options=-tine

poll() {
    date +%s.%N
    # shellcheck disable=SC2086
    LC_ALL=C ss $options $filter
}

parent=$PPID
while kill -0 "$parent" 2>/dev/null || [ -d "/proc/$parent" ]; do
    text=$(poll) || die "ss failed"
    printf '%s\n' "$text" || exit 0
    sleep "$interval_s" || exit
done
