// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

// madeUp is a world whose attempt is replaced by one with the changes.
func madeUp(ctx context.Context, change func(*infrav1.ElementalHostUpgradeSpec)) *world {
	GinkgoHelper()
	w := newWorld(ctx, infrav1.NodeUpgradeOption{})
	attempt := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{})
	Expect(live.Delete(ctx, attempt)).To(Succeed())
	attempt.ResourceVersion, attempt.UID = "", ""
	change(&attempt.Spec)
	Expect(live.Create(ctx, attempt)).To(Succeed())
	return w
}

// An attempt can be made up by whoever may create ElementalHostUpgrades, and be changed by whoever may change the policy
// that keeps it as it is.
var _ = Describe("An attempt that was made up", func() {
	other := osversion.OfImage("oci://registry.test/other:v2")

	const unwanted = "spec.osVersionManagement is an OS that no owner wants: the owner of Machine "

	DescribeTable("is offered to no host",
		func(ctx SpecContext, change func(*infrav1.ElementalHostUpgradeSpec), phase infrav1.UpgradePhase, message string) {
			w := madeUp(ctx, change)
			w.rest(ctx)
			Expect(w.status(ctx)).To(And(HaveField("Phase", phase), HaveField("Message", ContainSubstring(message))))
			w.clock.SetTime(w.clock.Now().Add(time.Hour))
			w.rest(ctx)
			Expect(w.status(ctx).Phase).To(Equal(phase), "it stays so")
			Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Spec.Upgrade).To(BeNil())
		},
		Entry("another image under the image of what is wanted",
			func(s *infrav1.ElementalHostUpgradeSpec) { s.OSVersionManagement = other }, infrav1.UpgradeFailed, unwanted),
		Entry("another image that it declares, too", func(s *infrav1.ElementalHostUpgradeSpec) {
			s.OSVersionManagement, s.ImageURI = other, "oci://registry.test/other:v2"
		}, infrav1.UpgradeFailed, unwanted),
		Entry("what is wanted under another image", func(s *infrav1.ElementalHostUpgradeSpec) { s.ImageURI = oldImage },
			infrav1.UpgradeFailed, "spec.imageURI is "+oldImage+", and spec.osVersionManagement asks for "+newImage),
	)

	It("is told from one whose owner changes its mind before anything is done: that makes room for the next", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		wantOther(ctx, w)
		w.rest(ctx)
		Expect(w.status(ctx)).To(And(HaveField("Phase", infrav1.UpgradeSuperseded), HaveField("Message", w.inWords(otherWanted))))
	})

	DescribeTable("takes no digest from a rollout of another OS, and pins it to none", func(ctx SpecContext, digest string) {
		w := madeUp(ctx, func(s *infrav1.ElementalHostUpgradeSpec) { s.RolloutName = "other" })
		template := &infrav1.ElementalMachineTemplate{ObjectMeta: w.meta("other")}
		template.Spec.Template.Spec.OSVersionManagement = other
		rollout := ownertest.Rollout(template, clusterName)
		rollout.Spec.ImageDigest = digest
		Expect(live.Create(ctx, rollout)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx)).To(And(HaveField("Phase", infrav1.UpgradeSucceeded), HaveField("Digest", newDigest)))
		Expect(live.Get(ctx, client.ObjectKeyFromObject(rollout), rollout)).To(Succeed())
		Expect(rollout.Spec.ImageDigest).To(Equal(digest))
	},
		Entry("that is not resolved", ""),
		Entry("that is resolved to what the host runs", oldDigest),
		Entry("that is resolved to another digest", "sha256:other"),
	)
})
