// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubevirt tries the lab's virtual machines: that the real KubeVirt decides there what evacuations rely on, and
// that guests move, fail and die as they were seen to. Our manager is not needed for it.
package kubevirt
