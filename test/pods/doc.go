// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pods tests the managers as Pods: clusterctl installs the release on a Node with systemd, containerd, the kubelet and kube-proxy,
// in systemd-nspawn (test/nspawn), whose control plane is that of the lab.
//
// Simulated are the hosts (test/lab/host) and their kubelets. Nothing enforces NetworkPolicies, and the controllers of cert-manager are one
// Pod, without its webhook.
//
// It requires root, cgroup v1, Debian's packages of hack/test/pods-packages.sh, and 'make tools tools-nodes tools-pods tools-certmanager
// lab-binaries'.
package pods
