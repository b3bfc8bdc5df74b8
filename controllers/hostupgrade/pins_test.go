// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

const formerImage, formerDigest = "oci://registry.test/os:v4", "sha256:v4"

// The pin of a template outlives a change of its image. The digest would give the host the former image under the name of the new one.
var _ = DescribeTable("An attempt of a template that is pinned to a digest of another image succeeds with its own only, and replaces the pin:",
	func(ctx SpecContext, pin string, os infrav1.HostOS) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		change(ctx, w, templateName, &infrav1.ElementalMachineTemplate{}, func(t *infrav1.ElementalMachineTemplate) {
			t.Annotations = map[string]string{infrav1.RolloutDigestAnnotation: pin}
		})
		host := get(ctx, w, w.host, &infrav1.ElementalHost{})
		os.BootID = host.Status.OS.BootID
		host.Status.OS = os
		Expect(live.Status().Update(ctx, host)).To(Succeed())
		w.agent.obeys = true
		w.drive(ctx, nil)
		Expect(w.status(ctx)).To(And(HaveField("Phase", infrav1.UpgradeSucceeded), HaveField("Digest", newDigest)))
		Expect(w.agent.applied).To(HaveLen(1))
		Expect(w.marks(ctx)).To(Equal(clean), "the host runs its digest, and the template is pinned to that")
	},
	Entry("which the host runs", rollout.Pin(formerImage, formerDigest), infrav1.HostOS{ImageURI: formerImage, Digest: formerDigest}),
	Entry("which the host runs under the new name", rollout.Pin(formerImage, formerDigest), infrav1.HostOS{ImageURI: newImage, Digest: formerDigest}),
	Entry("which the host does not run", rollout.Pin(formerImage, formerDigest), infrav1.HostOS{ImageURI: oldImage, Digest: oldDigest}),
	Entry("which it does not name", formerDigest, infrav1.HostOS{ImageURI: oldImage, Digest: oldDigest}),
)
