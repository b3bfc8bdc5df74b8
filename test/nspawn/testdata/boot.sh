#!/bin/bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Boots a host: what firmware, GRUB and the initramfs do, and then systemd in systemd-nspawn. HOST is the directory of the host, NAME its name,
# LOOPS are the loop devices of its partitions (EFI, OEM, recovery, state, persistent), USR is what it has in /usr above that of this machine, GRUB
# makes GRUB's choice, and GROUP is the control group of all hosts. The exit code is that of systemd-nspawn, 133 for a
# reboot; 100 is a kernel that panics.
set -euo pipefail

. "${BASH_SOURCE[0]%/*}/container.sh"

if [ "${1:-}" != booting ]; then
  own_groups
  enter "$0" booting
fi

mount -t proc proc /proc
# The CLI learns what is mounted from the names of devices in /proc/mounts: those of the disk, which the host has too (testdata/scripts/initramfs).
devices=$HOST/dev
mkdir -p "$devices"
mount -t tmpfs -o mode=755 dev "$devices"
cp -a /dev/{null,zero,full,random,urandom,tty,ptmx,fuse,loop-control} "$devices/" 2>/dev/null || true
for i in {0..63}; do mknod -m 660 "$devices/loop$i" b 7 "$i"; done # the kernel makes them when they are wanted
mkdir "$devices"/{pts,shm}
mount --bind /dev/pts "$devices/pts"
read -ra loops <<<"$LOOPS"
for i in {0..4}; do mknod "$devices/sda$((i + 1))" b 7 "${loops[$i]#/dev/loop}"; done
mount --bind "$devices" /dev
efi=/dev/sda1 oem=/dev/sda2 state=/dev/sda4 persistent=/dev/sda5
stage=$HOST/stage
mkdir -p "$stage"
mount -t tmpfs -o mode=755 stage "$stage"
mkdir -p "$stage"/{elemental/efi,initramfs/elemental-state,oem,persistent,root,usr,etc,lab}
states=$stage/initramfs/elemental-state
mount -t ext4 "$state" "$states"
mount -t ext4 -o ro "$efi" "$stage/elemental/efi"
mount -t ext4 "$oem" "$stage/oem"
mount -t ext4 "$persistent" "$stage/persistent"

# The OS configures its network.
ip -netns "$NAME" link set host0 down
ip -netns "$NAME" address flush dev host0
# What kube-proxy has set is lost in a boot. One that finds rules of another boot sets none.
for family in ip ip6; do ip netns exec "$NAME" nft delete table "$family" kube-proxy 2>/dev/null || true; done

choice=$("$GRUB" "$stage/elemental/efi/grub_oem_env" "$stage/oem/grubenv" "$states")
read -r mode snapshot cmdline <<<"$choice"
echo "GRUB chooses $mode, snapshot $snapshot"
# Another process of this machine may take the loop device that is free.
for try in {1..5}; do
  mount -o ro,loop "$states/.snapshots/$snapshot/snapshot.img" "$stage/root" && break
  if [ "$try" -eq 5 ]; then exit 100; fi
done
touch "$stage/elemental/${mode}_mode"
echo "$cmdline" >"$stage/lab/cmdline"
echo "$LOOPS" >"$stage/lab/loops"

# /usr is read-only; changes of /etc and /var are kept on the persistent partition.
mount -t overlay -o "lowerdir=$stage/root/usr:$USR:/usr" usr "$stage/usr"
mkdir -p "$stage"/persistent/{etc,etc.work,var,root}
mount -t overlay -o "lowerdir=$stage/root/etc,upperdir=$stage/persistent/etc,workdir=$stage/persistent/etc.work" etc "$stage/etc"

make_hiding

read -ra arguments <<<"$cmdline"
run_container --directory="$stage/root" \
  --bind="$stage/usr:/usr" --bind="$stage/etc:/etc" --bind="$stage/persistent/var:/var" --bind="$stage/persistent/root:/root" \
  --bind="$stage/oem:/oem" --bind="$stage/elemental:/run/elemental" --bind="$stage/initramfs:/run/initramfs" --bind="$stage/lab:/run/lab" \
  -- systemd.show_status=0 "${arguments[@]}"
