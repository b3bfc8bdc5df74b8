#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Kubernetes for kubeadm: kubeadm, kubelet, kubectl, containerd, the network plugins that others build upon, and crictl.
set -euo pipefail
. "${BASH_SOURCE[0]%/*}/fetch.sh"

arch=$(architecture)
kubernetes=${KUBERNETES_VERSION:-v1.36.3}
containerd=${CONTAINERD_VERSION:-2.2.1}
plugins=${CNI_PLUGINS_VERSION:-v1.9.0}
crictl=${CRICTL_VERSION:-v1.35.0}

# release REPOSITORY TAG FILE SUFFIX FOLDER unpacks an archive of a release on GitHub; its checksum is in FILE.SUFFIX.
release() {
  local url=$GITHUB_URL/$1/releases/download/$2/$3
  fetch "$url" "/tmp/$3" "$url.$4" "$3"
  mkdir -p "$5"
  tar --extract --gzip --no-same-owner --file "/tmp/$3" --directory "$5"
  rm "/tmp/$3"
}

for program in kubeadm kubelet kubectl; do
  url=$KUBERNETES_URL/release/$kubernetes/bin/linux/$arch/$program
  fetch "$url" "/usr/bin/$program" "$url.sha256" "$program"
  chmod 0755 "/usr/bin/$program"
done
# The archive has a folder "bin".
release containerd/containerd "v$containerd" "containerd-$containerd-linux-$arch.tar.gz" sha256sum /usr
release containernetworking/plugins "$plugins" "cni-plugins-linux-$arch-$plugins.tgz" sha256 /opt/cni/bin
release kubernetes-sigs/cri-tools "$crictl" "crictl-$crictl-linux-$arch.tar.gz" sha256 /usr/bin
systemctl enable containerd.service kubelet.service
