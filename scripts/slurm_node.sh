#!/bin/sh
# A Slurm cluster of one node, this machine, to test the profile `slurm`: Debian's slurm-wlm and munge, no accounting.
#
#   sudo scripts/slurm_node.sh up      configure and start munged, slurmctld and slurmd
#   sudo scripts/slurm_node.sh down    end them and remove all files that `up` wrote
#
# Needs root and `apt-get install --no-install-recommends slurm-wlm munge`; CPUS=1 gives jobs fewer processors than the
# machine has.
set -eu

CONF=/etc/slurm/slurm.conf
CGROUP=/etc/slurm/cgroup.conf
STATE=/var/lib/slurm/tcpfair-node # all other files that `up` writes
MARK="# written by tcpfair's scripts/slurm_node.sh"

fail() { # MESSAGE
    echo "error: $1" >&2
    exit 1
}

is_ours() {
    [ -d "$STATE" ] && head -n 1 "$CONF" 2>/dev/null | grep -qF "$MARK"
}

# End a process by its stored id, if that still belongs to the same program.
end() { # PIDFILE PROGRAM
    [ -f "$1" ] || return 0
    pid=$(cat "$1")
    if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ]; then
        kill "$pid"
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            [ -d "/proc/$pid" ] || break
            sleep 0.5
        done
    fi
    rm -f "$1"
}

down() {
    is_ours || fail "no node that \`up\` started"
    scancel --full --user=root 2>/dev/null || true
    end "$STATE/slurmd.pid" slurmd
    end "$STATE/slurmctld.pid" slurmctld
    if [ -f "$STATE/munged.started" ]; then end /run/munge/munged.pid munged; fi
    if [ -f "$STATE/munge.key.made" ]; then rm -f /etc/munge/munge.key; fi
    rm -rf "$STATE" "$CONF" "$CGROUP"
    if [ -f "$CONF.before-tcpfair" ]; then mv "$CONF.before-tcpfair" "$CONF"; fi
}

up() {
    for program in munged slurmctld slurmd sbatch; do
        command -v "$program" >/dev/null || fail "$program is not installed; apt-get install --no-install-recommends slurm-wlm munge"
    done
    if is_ours; then fail "the node is up; scripts/slurm_node.sh down ends it"; fi
    pgrep -x slurmctld >/dev/null && fail "a slurmctld runs here that this script did not start"
    mkdir -p "$STATE/ctld" "$STATE/spool" /etc/slurm /run/munge
    if [ -f "$CONF" ]; then mv "$CONF" "$CONF.before-tcpfair"; fi

    if [ ! -f /etc/munge/munge.key ]; then
        (umask 077 && dd if=/dev/urandom of=/etc/munge/munge.key bs=1024 count=1 2>/dev/null)
        : >"$STATE/munge.key.made"
    fi
    chown -R munge: /etc/munge /run/munge
    if ! pgrep -x munged >/dev/null; then
        chown -R munge: /var/lib/munge /var/log/munge
        : >"$STATE/munged.started"
        setpriv --reuid=munge --regid=munge --clear-groups munged --force 2>"$STATE/munged.log"
    fi

    cpus=${CPUS:-$(getconf _NPROCESSORS_ONLN)}
    memory_mb=$(awk '/MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
    name=$(hostname -s)
    cat >"$CONF" <<EOT
$MARK
ClusterName=tcpfair
SlurmctldHost=$name(127.0.0.1)
AuthType=auth/munge
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$STATE/ctld
SlurmdSpoolDir=$STATE/spool
SlurmctldPidFile=$STATE/slurmctld.pid
SlurmdPidFile=$STATE/slurmd.pid
SlurmctldLogFile=$STATE/slurmctld.log
SlurmdLogFile=$STATE/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
MinJobAge=300
KillWait=10
NodeName=$name NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=$memory_mb State=UNKNOWN
PartitionName=all Nodes=$name Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
EOT
    slurmctld -i
    slurmd
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        if [ "$(sinfo --noheader --format=%t 2>/dev/null)" = idle ]; then
            sinfo
            return
        fi
        sleep 1
    done
    sinfo || true
    fail "the node does not become idle; see $STATE/slurmctld.log and $STATE/slurmd.log"
}

[ "$(id -u)" = 0 ] || fail "needs root"
case "${1-}" in
up) up ;;
down) down ;;
*) fail "usage: scripts/slurm_node.sh up|down" ;;
esac
