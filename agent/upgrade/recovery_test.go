// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = DescribeTable("An OS that runs already, of which the recovery system is wanted too,",
	func(recovery string, prefetch string, written int) {
		w, dir := newWorld(), memoryDir()
		w.snapshots[1] = snap{digest: w.digest, whole: true}
		w.recoveryDigest = recovery
		want := wanted("a1")
		want.OSVersionManagement, want.Prefetch = management(`{"imageUri":"oci://r/os:2","upgradeRecovery":true}`), prefetch
		w.live(dir, want)
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", w.digest)))
		Expect(w.written).To(Equal(written))
		Expect(w.recoveryDigest).To(Equal(w.digest))
	},
	Entry("is written again, with the recovery system", digestOf("1"), "", 1),
	Entry("is written again where that is unknown", "", "", 1),
	Entry("is written again, and not fetched ahead", digestOf("1"), "None", 1),
	Entry("is not written where that is of the same image", digestOf("2"), "", 0),
)
