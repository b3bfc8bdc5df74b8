// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/hostupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
	longhornresident "github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
)

// raised is what Longhorn's setting is while nodes are down.
const raised = "1800"

var _ = Describe("An upgrade in a cluster with Longhorn", Ordered, func() {
	var longhorn *storage.Longhorn

	BeforeAll(func(ctx SpecContext) {
		var err error
		longhorn, err = storage.NewLonghorn(ctx, live, clock.RealClock{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) error { return storage.Uninstall(ctx, live) })
	})

	replenishment := func(ctx context.Context) (value, record string) {
		GinkgoHelper()
		value, annotations, err := longhorn.Replenishment(ctx)
		Expect(err).NotTo(HaveOccurred())
		return value, annotations[infrav1.ReplenishmentAnnotation]
	}
	expectRestored := func(ctx context.Context) {
		GinkgoHelper()
		value, record := replenishment(ctx)
		Expect(record).To(BeEmpty())
		Expect(value).To(Equal(storage.DefaultReplenishment))
	}
	// addVolume makes a volume that is in use on another node, with a replica on the world's.
	addVolume := func(ctx context.Context, w *world) string {
		GinkgoHelper()
		name := w.namespace + "-pvc"
		Expect(longhorn.AddVolume(ctx, storage.VolumeSpec{
			Name: name, Nodes: []string{w.host, "b", "c"}, AttachedTo: "b", Workload: "Deployment web",
		})).To(Succeed())
		return name
	}
	// fail makes a volume's replica on a node fail, at what the world's clock says.
	fail := func(ctx context.Context, w *world, volume, node string) {
		GinkgoHelper()
		Expect(longhorn.FailReplica(ctx, volume, node)).To(Succeed())
		stamp := func(kind schema.GroupVersionKind, name string, fields ...string) {
			Expect(longhorn.Change(ctx, kind, name, func(object *unstructured.Unstructured) {
				Expect(unstructured.SetNestedField(object.Object, w.clock.Now().UTC().Format(time.RFC3339), fields...)).To(Succeed())
			})).To(Succeed())
		}
		stamp(storage.Replica, storage.ReplicaName(volume, node), "spec", "failedAt")
		stamp(storage.Volume, volume, "status", "lastDegradedAt")
	}

	It("holds its slot until the replicas on its node are rebuilt, and the setting that long", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		volume := addVolume(ctx, w)
		w.drive(ctx, func() bool { return w.agent.marker.Phase == infrav1.HostUpgradeRebooting })
		fail(ctx, w, volume, w.host)
		w.drive(ctx, nil)
		Expect(w.status(ctx).Message).To(Equal("waiting for Longhorn to rebuild the replicas on Node " + w.host + " of volumes " + volume))
		Expect(w.marks(ctx).Slots).To(Equal(1))
		Expect(w.marks(ctx).Unschedulable).To(BeFalse())
		value, record := replenishment(ctx)
		Expect(value).To(Equal(raised))
		Expect(record).To(ContainSubstring(`"saved":"600"`))

		Expect(longhorn.StartRebuild(ctx, volume, w.host)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Phase).To(Equal(infrav1.UpgradeProgressing))
		Expect(longhorn.FinishRebuild(ctx, volume, w.host)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		expectRestored(ctx)
	})

	It("does not hold for a volume that another node had degraded before, but for its own replica", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		volume := addVolume(ctx, w)
		fail(ctx, w, volume, "c")
		change(ctx, w, w.upgrade, &infrav1.ElementalHostUpgrade{}, func(u *infrav1.ElementalHostUpgrade) {
			u.Spec.SkipPreflight = allChecks()
		})
		w.clock.SetTime(w.clock.Now().Add(11 * time.Minute)) // more than clocks are believed to be off
		w.drive(ctx, func() bool { return w.agent.marker.Phase == infrav1.HostUpgradeRebooting })
		Expect(longhorn.FailReplica(ctx, volume, w.host)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Message).To(HavePrefix("waiting for Longhorn to rebuild"))
		Expect(longhorn.FinishRebuild(ctx, volume, w.host)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
		expectRestored(ctx)
	})

	It("waits for Longhorn's engines to leave its node before the host is triggered", func(ctx SpecContext) {
		w := newWorld(ctx, infrav1.NodeUpgradeOption{})
		name := w.namespace + "-shared"
		Expect(longhorn.AddVolume(ctx, storage.VolumeSpec{Name: name, Nodes: []string{"b", "c"}, AttachedTo: w.host})).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.status(ctx).Message).To(Equal("waiting for volumes to be detached from Node " + w.host + ": " + name))
		Expect(w.faults.triggers).To(BeEmpty())
		Expect(longhorn.Detach(ctx, name)).To(Succeed())
		w.drive(ctx, nil)
		Expect(w.marks(ctx)).To(Equal(clean))
	})

	Describe("leaves Longhorn's setting as it was, however it ends", func() {
		for name, s := range scenarios {
			It(name, func(ctx SpecContext) {
				w := newWorld(ctx, s.options)
				if s.prepare != nil {
					s.prepare(ctx, w)
				}
				s.play(ctx, w)
				Expect(w.marks(ctx)).To(Equal(s.expected(w)))
				expectRestored(ctx)
			})
		}
	})

	Describe("leaves Longhorn's setting as it was when it is aborted", func() {
		// drained says from which step on the setting is held.
		drained := slices.Index(hostupgrade.StepNames(), "DetachVolumes")
		atEachHold(func(ctx context.Context, h hold) {
			w := held(ctx, h)
			value, _ := replenishment(ctx)
			if h.index() > drained {
				Expect(value).To(Equal(raised))
			} else {
				Expect(value).To(Equal(storage.DefaultReplenishment))
			}
			cancel(ctx, w)
			h.lift(ctx, w)
			w.drive(ctx, nil)
			expectRestored(ctx)
		})
	})

	It("leaves Longhorn's setting as it was when the controller dies after any of its writes", func(ctx SpecContext) {
		const enough = 60
		for _, name := range []string{"Succeeded", begunMeanwhile} {
			for writes := 0; ; writes++ {
				Expect(writes).To(BeNumerically("<", enough))
				By(fmt.Sprintf("%s: dying after %d writes", name, writes))
				isDisturbed := disturb(ctx, name, func(f *faults, before int) { f.dieAfter = before + writes })
				expectRestored(ctx)
				if !isDisturbed {
					break
				}
			}
		}
	})
})

// allChecks waives every check of the preflight.
func allChecks() []infrav1.PreflightCheck {
	names := []infrav1.PreflightCheck{}
	for _, check := range preflight.Checks(kubevirt.Resident{}, longhornresident.Resident{}) {
		names = append(names, infrav1.PreflightCheck(check.Name))
	}
	return names
}

// index of the step that the attempt waits at.
func (h hold) index() int {
	return slices.IndexFunc(hostupgrade.StepNames(), func(name string) bool { return strings.HasPrefix(h.position, name+" ") })
}
