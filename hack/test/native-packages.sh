#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# usage: hack/test/native-packages.sh
#
# Installs the packages of Debian that test/native needs, those that are missing, where it can. The suite is skipped elsewhere, and says what is
# missing. docs/testing.md lists them too.
set -uo pipefail

[ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || exit 0

missing=()
for package in btrfs-progs dbus-daemon e2fsprogs grub-common mount rsync snapper squashfs-tools util-linux; do
  dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ "${#missing[@]}" -eq 0 ] && exit 0
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
  echo "these packages cannot be installed: ${missing[*]}" >&2
exit 0
