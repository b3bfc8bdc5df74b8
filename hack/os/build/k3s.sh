#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# K3s, in /usr, so that it comes and goes with the OS. Its units are not enabled: Cluster API's bootstrap data say which of them a host runs.
set -euo pipefail
. "${BASH_SOURCE[0]%/*}/fetch.sh"

arch=$(architecture)
version=${KUBERNETES_VERSION:-v1.35.1+k3s1}
url=$GITHUB_URL/k3s-io/k3s/releases/download/${version/+/%2B}
file=k3s
[ "$arch" = amd64 ] || file=k3s-$arch

fetch "$url/$file" /usr/bin/k3s "$url/sha256sum-$arch.txt" "$file"
chmod 0755 /usr/bin/k3s
for program in kubectl crictl ctr; do
  ln -sf k3s "/usr/bin/$program"
done
mkdir -p /usr/share/k3s
echo "$version" >/usr/share/k3s/version
