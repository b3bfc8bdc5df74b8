#!/bin/bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: tree.sh DIRECTORY
#
# Makes the tree of an OS image without a kernel: what the toolkit's hooks need, and where a machine mounts things.
set -euo pipefail
tree=$1
mkdir -p "$tree"/{dev,proc,sys,run,tmp,oem,var,native,boot,mnt,etc/elemental/agent,system/oem,usr/bin,usr/sbin,usr/lib,usr/lib64,usr/share/data}
for link in bin sbin lib lib64; do ln -s "usr/$link" "$tree/$link"; done
for name in dash sleep touch grub-editenv; do
  binary=$(readlink -f "$(command -v "$name")")
  cp "$binary" "$tree/usr/bin/$name"
  ldd "$binary" | grep -o '/[^ ]*' | while read -r library; do cp -L --parents "$library" "$tree"; done
done
ln -s dash "$tree/usr/bin/sh"
ln -s grub-editenv "$tree/usr/bin/grub2-editenv"
echo host-1 >"$tree/etc/hostname"
cat >"$tree/system/oem/08_boot_assessment.yaml" <<YAML
name: "Boot assessment"
stages:
  after-upgrade-chroot: &check
  - commands:
    - grub2-editenv /oem/grubenv set boot_assessment_check=yes
    - grub2-editenv /oem/grubenv unset last_boot_attempt
  after-reset-chroot: *check
YAML
# What the toolkit configures snapper by, where that is used.
mkdir -p "$tree"/etc/snapper/{config-templates,configs} "$tree"/etc/default
echo 'SNAPPER_CONFIGS=""' >"$tree"/etc/default/snapper # where Debian's has it
printf 'SUBVOLUME="/"\nFSTYPE="btrfs"\nNUMBER_CLEANUP="yes"\nNUMBER_MIN_AGE="0"\n' >"$tree/etc/snapper/config-templates/default"
# What a reset copies to the EFI partition.
mkdir -p "$tree"/boot/grub2/x86_64-efi "$tree"/usr/share/efi/x86_64 "$tree"/usr/share/grub2/x86_64-efi
for name in boot/grub2/x86_64-efi/{loopback,squash4,xzio}.mod usr/share/efi/x86_64/{shim,MokManager}.efi usr/share/grub2/x86_64-efi/grub.efi etc/elemental/grub.cfg; do
  echo "$name" >"$tree/$name"
done
for i in {1..40}; do head -c 50000 /dev/urandom >"$tree/usr/share/data/$i"; done
