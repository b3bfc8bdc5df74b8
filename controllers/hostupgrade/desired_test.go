// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// knownOwners says of which owners it is known what they want.
const knownOwners = "nothing is rolled out to it for a patched template: see condition RolloutBlocked of the ElementalMachineTemplate that it was made from"

// expectWantUnknown checks that an attempt says what it waits for, and has not failed.
func expectWantUnknown(ctx context.Context, w *world, why string) {
	GinkgoHelper()
	upgrade := get(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{})
	Expect(upgrade.Status).To(And(
		HaveField("Phase", infrav1.UpgradeProgressing),
		HaveField("Position()", "Preflight (1/14)"),
		HaveField("Message", "no upgrade is requested for ElementalHost "+w.host+": "+why),
	))
}

var _ = Describe("An attempt of a Machine of which it is not known what its owner wants", func() {
	unknown := func(w *world) string {
		return "Machine " + w.host + " has no owner that determines its OS: " + knownOwners
	}

	It("asks nothing of its host, and goes on once that is known", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.owners.hash = ""
		w.rest(ctx)
		expectWantUnknown(ctx, w, unknown(w))
		Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Spec.Upgrade).To(BeNil())

		w.owners.hash = wantedHash
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	It("asks nothing of its host while that cannot be read", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		w.owners.err = errors.New("the server is down")
		w.rest(ctx)
		expectWantUnknown(ctx, w, "it cannot be read which OS the owner of Machine "+w.host+" wants: the server is down")
		Expect(get(ctx, w, w.host, &infrav1.ElementalHost{}).Spec.Upgrade).To(BeNil())

		w.owners.err = nil
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})
})

var _ = Describe("An attempt whose Machine's owner cannot be read any more is not triggered, and goes on where it was:", func() {
	atEachHold(func(ctx context.Context, h hold) {
		w := held(ctx, h)
		isTriggered := len(w.faults.triggers) > 0
		w.owners.err = errors.New("the server is down")
		release(ctx, w, h)
		if isTriggered {
			Expect(w.marks(ctx)).To(Equal(clean))
			return
		}
		Expect(w.faults.triggers).To(BeEmpty())
		Expect(w.agent.applied).To(BeEmpty())
		w.owners.err = nil
		h.lift(ctx, w)
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})
})
