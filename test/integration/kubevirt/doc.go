// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubevirt tests the lab's virtual machines: that the real KubeVirt makes the decisions there that evacuations
// rely on, and that guests migrate, fail and die as was observed in real clusters. It does not run our manager.
package kubevirt
