# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: what hosts (boot.sh) and Nodes (node.sh) need around systemd-nspawn. NAME is theirs, GROUP the control group of all.

# own_groups gives this process control groups of its own in each hierarchy of cgroup v1.
own_groups() {
  local hierarchy group file of
  for hierarchy in /sys/fs/cgroup/*/; do
    group=$hierarchy/$GROUP/$NAME
    mkdir -p "$group"
    for file in cpuset.cpus cpuset.mems; do
      [ -e "$hierarchy/$file" ] || continue
      for of in "$hierarchy/$GROUP" "$group"; do cat "$hierarchy/$file" >"$of/$file"; done
    done
    echo 0 >"$group/cgroup.procs"
  done
}

# enter SCRIPT ARGUMENT... runs a script with mounts and processes of its own.
enter() {
  mkdir -p /run/systemd
  exec unshare --mount --pid --fork --kill-child --propagation private bash "$@"
}

# make_hiding makes what systemd-nspawn hides files with.
make_hiding() {
  mount -t tmpfs -o mode=755 systemd /run/systemd
  mkdir -p /run/systemd/inaccessible/dir
  cd /run/systemd/inaccessible
  touch reg && mkfifo fifo && mknod chr c 0 0 && mknod blk b 0 0 && chmod 000 ./*
  cd /
}

# run_container ARGUMENT... runs systemd as the init of a container.
run_container() {
  exec env SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn --quiet --boot --machine="$NAME" --hostname="$NAME" \
    --register=no --keep-unit --console=read-only --link-journal=no --resolv-conf=off --timezone=off \
    --capability=all --system-call-filter="@keyring bpf" --network-namespace-path="/run/netns/$NAME" --bind=/dev/null:/dev/kmsg "$@"
}
