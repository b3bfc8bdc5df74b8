#!/bin/bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# What firmware, GRUB, the initramfs and an init do, as PID 1 of a new mount and PID namespace. MACHINE is the directory of the
# machine, LOOPS are the loop devices of its partitions (EFI, OEM, recovery, state, persistent), BOOT_ID is the boot's id,
# SNAPSHOTTER is the toolkit's: loopdevice, btrfs, or snapper, which is btrfs with that. Exit code 100 is a kernel that panics.
set -euo pipefail
mount --make-rprivate /

# Devices: the partitions are sda1 to sda5.
mount -t tmpfs -o mode=755 dev /dev
for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 loop-control:10:237; do
  IFS=: read -r name major minor <<<"$node"
  mknod -m 666 "/dev/$name" c "$major" "$minor"
done
for i in {0..63}; do mknod "/dev/loop$i" b 7 "$i"; done
mkdir -p /dev/pts /dev/shm /dev/disk/by-label
labels=(COS_GRUB COS_OEM COS_RECOVERY COS_STATE COS_PERSISTENT)
number=0
for loop in $LOOPS; do
  ln -s "../../sda$((number + 1))" "/dev/disk/by-label/${labels[$number]}"
  number=$((number + 1))
  mknod "/dev/sda$number" b 7 "${loop#/dev/loop}"
done

mount -t tmpfs run /run
state=/run/initramfs/elemental-state
mkdir -p "$state" /run/elemental/efi /run/elemental/persistent /run/root /run/oem /run/former
if [ "$SNAPSHOTTER" = loopdevice ]; then
  mount -t ext4 /dev/sda4 "$state"
else
  mknod -m 600 /dev/btrfs-control c 10 234
  mount -t btrfs -o subvol=@ /dev/sda4 "$state"
fi
mount -t ext4 -o ro /dev/sda1 /run/elemental/efi
mount -t ext4 /dev/sda2 /run/oem
mount -t ext4 /dev/sda5 /run/elemental/persistent

# GRUB, and the initramfs.
choice=$("$MACHINE/bin/native-grub" /run/elemental/efi/grub_oem_env /run/oem/grubenv "$state")
read -r mode snapshot cmdline <<<"$choice"
image=$state/.snapshots/$snapshot/snapshot.img
if [ "$mode" = recovery ]; then
  # The recovery system has its own partition where others have the state's, and nothing that lasts.
  umount "$state" /run/elemental/persistent
  mount -t ext4 /dev/sda3 "$state"
  mount -t tmpfs var /run/elemental/persistent
  image=$state/boot/recovery.img
fi
if [ "$mode" = recovery ] || [ "$SNAPSHOTTER" = loopdevice ]; then
  mount -o ro,loop "$image" /run/root || exit 100
else
  mount -t btrfs -o "subvol=@/.snapshots/$snapshot/snapshot" /dev/sda4 /run/root || exit 100
  mount -t btrfs -o subvol=@/.snapshots /dev/sda4 /run/root/.snapshots
fi
touch "/run/elemental/${mode}_mode"
echo "$BOOT_ID" >/run/boot_id
echo "$cmdline" >/run/cmdline

# The disk as block devices with partitions, where the CLI looks for them (GHW_CHROOT).
block=/run/ghw/sys/block/sda
mkdir -p "$block/queue" /run/ghw/run/udev/data
ln -s /proc /run/ghw/proc
names=(efi oem recovery state persistent)
types=(ext4 ext4 ext4 ext4 ext4)
if [ "$SNAPSHOTTER" != loopdevice ]; then types[3]=btrfs; fi
for i in 0 1 2 3 4; do
  mkdir -p "$block/sda$((i + 1))"
  echo "8:$((i + 1))" >"$block/sda$((i + 1))/dev"
  printf 'E:ID_FS_LABEL=%s\nE:ID_PART_ENTRY_NAME=%s\nE:ID_FS_TYPE=%s\n' "${labels[$i]}" "${names[$i]}" "${types[$i]}" >"/run/ghw/run/udev/data/b8:$((i + 1))"
done

root=$MACHINE/root
mkdir -p "$root" /run/elemental/persistent/var
mount --move /run/root "$root" && rmdir /run/root
mount -t proc proc "$root/proc"
mount --bind /run/boot_id "$root/proc/sys/kernel/random/boot_id"
mount --bind /run/cmdline "$root/proc/cmdline"
mount --rbind /sys "$root/sys"
mount -t tmpfs firmware "$root/sys/firmware" && mkdir -p "$root/sys/firmware/efi/efivars"
mount -t tmpfs -o ro efivars "$root/sys/firmware/efi/efivars"
mount --bind -o ro /usr "$root/usr"
mount --bind "$MACHINE/share" "$root/native"
mount --bind /run/elemental/persistent/var "$root/var"
mkdir /run/etc && mount -t tmpfs etc /run/etc && cp -a "$root/etc/." /run/etc && mount --move /run/etc "$root/etc" && rmdir /run/etc
mount -t tmpfs tmp "$root/tmp"
mount --move /run/oem "$root/oem" && rmdir /run/oem
mount --move /dev "$root/dev"
mount --move /run "$root/run"
cd "$root"
pivot_root . run/former
umount -l /run/former && rmdir /run/former
mount --make-rshared /

# systemd: the toolkit's stages and assessment, and the units of the kubelet and the agent, which are started again whatever becomes of
# them.
export PATH=/native/bin:/usr/sbin:/usr/bin GHW_CHROOT=/run/ghw SSL_CERT_FILE=/native/ca.pem HOME=/tmp
cd /
if [ "$SNAPSHOTTER" = snapper ]; then
  # The machine's own bus, which starts snapperd when somebody asks for it.
  echo root:x:0:0:root:/:/bin/sh >/etc/passwd
  echo root:x:0: >/etc/group
  cp -r /native/dbus /run/dbus
  export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket
  dbus-daemon --config-file=/run/dbus/bus.conf --fork --nopidfile --syslog-only
fi
elemental run-stage boot >>/native/stages.log 2>&1 || true
if [ -e /etc/unhealthy ]; then
  systemctl reboot
  sleep infinity
fi
grub2-editenv /oem/grubenv unset last_boot_attempt
if [ "$mode" = active ]; then grub2-editenv /oem/grubenv unset boot_assessment_check; fi
touch /run/assessed
elemental run-stage network >>/native/stages.log 2>&1 &
if [ -e /etc/kubelet.yaml ]; then
  while true; do
    kubelet --config /etc/kubelet.yaml >>/native/kubelet.log 2>&1 || true
    sleep 0.2
  done &
fi
while true; do
  elemental-agent --config /native/agent.yaml run >>/native/agent.log 2>&1 &
  echo $! >/run/agent.pid
  wait $! || true
  sleep 0.2
done
