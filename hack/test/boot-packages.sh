#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/test/boot-packages.sh
#
# Installs the packages of Debian that test/boot needs, those that are missing, and unpacks Debian's kernel into bin/kernel, where nothing of
# this machine boots it. Fails with what this machine lacks. docs/testing.md lists them too.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit

lacks=()
[ "$(id -u)" -eq 0 ] || lacks+=("root")
[ "$(uname -m)" = x86_64 ] || lacks+=("an x86-64 processor")
command -v apt-get >/dev/null || lacks+=("Debian's apt-get")
if [ "${#lacks[@]}" -gt 0 ]; then
  printf 'virtual machines with GRUB cannot run on this machine, which lacks: %s\n' "${lacks[@]}" >&2
  exit 1
fi

missing=()
for package in bash containerd cpio dbus e2fsprogs fdisk grub-common grub-efi-amd64-bin grub-pc-bin iproute2 kmod mount mtools ovmf qemu-system-x86 rsync runc systemd util-linux; do
  dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  if ! apt-get update -qq || ! DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then
    echo "virtual machines with GRUB cannot run on this machine: these packages cannot be installed: ${missing[*]}" >&2
    exit 1
  fi
fi

compgen -G 'bin/kernel/boot/vmlinuz-*' >/dev/null && exit 0
package=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: //p' | head -n 1)
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
if ! (cd "$unpacked" && apt-get download -qq "$package" 2>/dev/null && dpkg-deb --extract "$package"*.deb .); then
  echo "virtual machines with GRUB cannot run on this machine: Debian's kernel ($package) cannot be downloaded" >&2
  exit 1
fi
mkdir -p bin/kernel
cp -r "$unpacked/boot" "$unpacked/lib" bin/kernel/
depmod --basedir bin/kernel "$(ls bin/kernel/lib/modules)"
