// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pods runs the Pods of KubeVirt's control plane as processes of this machine: those of virt-operator, virt-api
// and virt-controller, and of the Jobs of virt-operator. A Pod that is bound to a Node starts the binary of its container's command and
// image tag, with the container's arguments and environment; it is Ready once its readiness probe succeeds; it is restarted
// when it exits, or completes if it is a Job's; and it ends when it is deleted. The state of the Node is not looked at.
// A Pod of virt-handler has no process: it is Ready, and goes when it is deleted, only while its host runs.
//
// All processes have the machine's host name, by which virt-operator and virt-controller elect a leader. The process of
// an older Pod of such a component therefore ends before that of a newer one starts.
package pods
