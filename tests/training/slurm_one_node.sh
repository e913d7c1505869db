#!/usr/bin/env bash
# A SLURM of one node on loopback, for the test of the submitit launcher. Needs root, slurm-wlm and munge (Debian).
# usage: slurm_one_node.sh start DIRECTORY | stop DIRECTORY
set -euo pipefail
mkdir -p "$2"
place=$(cd "$2" && pwd)

configured() {
  cat <<CONF
ClusterName=one
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd.log
NodeName=localhost CPUs=$(nproc) RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=localhost Default=YES MaxTime=INFINITE State=UP
CONF
}

start() {
  mkdir -p "$place/state" "$place/spool" /etc/slurm /run/munge
  chown munge:munge /run/munge
  configured > /etc/slurm/slurm.conf
  munge -n < /dev/null | unmunge > /dev/null 2>&1 || runuser -u munge -- munged
  slurmctld
  slurmd -N localhost
  for _ in $(seq 60); do
    if sinfo --noheader --format=%T 2> /dev/null | grep -q idle; then exit 0; fi
    sleep 0.5
  done
  tail -n 20 "$place"/*.log >&2
  exit 1
}

stop() {
  for name in slurmd slurmctld; do
    if [ -f "$place/$name.pid" ]; then kill "$(cat "$place/$name.pid")"; fi
  done
}

"$1"
