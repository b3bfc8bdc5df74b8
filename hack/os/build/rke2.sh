#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# RKE2, in /usr, so that it comes and goes with the OS. Its units are not enabled: Cluster API's bootstrap data say which of them a host runs.
set -euo pipefail
. "${BASH_SOURCE[0]%/*}/fetch.sh"

arch=$(architecture)
version=${KUBERNETES_VERSION:-v1.35.1+rke2r1}
url=$GITHUB_URL/rancher/rke2/releases/download/${version/+/%2B}

fetch "$url/rke2.linux-$arch.tar.gz" /tmp/rke2.tar.gz "$url/sha256sum-$arch.txt" "rke2.linux-$arch.tar.gz"
tar --extract --gzip --no-same-owner --file /tmp/rke2.tar.gz --directory /usr
rm /tmp/rke2.tar.gz
# They are written for /usr/local.
sed -i 's|/usr/local/|/usr/|g' /usr/lib/systemd/system/rke2-*.service
mkdir -p /usr/share/rke2
echo "$version" >/usr/share/rke2/version
