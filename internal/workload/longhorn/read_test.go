// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
)

var _ = Describe("Read", Ordered, func() {
	var stored *storage.Longhorn

	read := func(ctx SpecContext) *longhorn.Snapshot {
		GinkgoHelper()
		snapshot, err := longhorn.Read(ctx, workload.Asking{Client: server.Client})
		Expect(err).NotTo(HaveOccurred())
		return snapshot
	}

	BeforeAll(func(ctx SpecContext) {
		Expect(read(ctx)).To(BeNil(), "Longhorn is not installed")
		var err error
		stored, err = storage.NewLonghorn(ctx, server.Client, clocktesting.NewFakePassiveClock(went))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) error { return storage.Uninstall(ctx, server.Client) })
	})

	It("reads volumes with their replicas, and who uses them", func(ctx SpecContext) {
		Expect(stored.AddVolume(ctx, storage.VolumeSpec{Name: "v2", Nodes: []string{"a"}, Workload: "Deployment web", Claim: "default/data"})).To(Succeed())
		Expect(stored.AddVolume(ctx, storage.VolumeSpec{Name: "v1", Nodes: []string{"a", "b"}, AttachedTo: "b"})).To(Succeed())
		Expect(read(ctx).Volumes).To(Equal([]longhorn.Volume{
			{Name: "v1", Wanted: 2, State: "attached", Robustness: "healthy", Node: "b", Workloads: []string{}, Replicas: []longhorn.Replica{
				{Name: "v1-r-a", Node: "a", Healthy: true}, {Name: "v1-r-b", Node: "b", Healthy: true},
			}},
			{Name: "v2", Claim: "default/data", Wanted: 1, State: "detached", Robustness: "unknown", Workloads: []string{"Deployment web"},
				Replicas: []longhorn.Replica{{Name: "v2-r-a", Node: "a", Healthy: true}}},
		}))
	})

	It("reads for one node the replicas of those volumes only that have one there", func(ctx SpecContext) {
		all := read(ctx)
		for node, holds := range map[string][]bool{"a": {true, true}, "b": {true, false}, "c": {false, false}, strings.Repeat("c", 64): {false, false}} {
			on, err := longhorn.ReadOn(ctx, workload.Asking{Client: server.Client}, node)
			Expect(err).NotTo(HaveOccurred())
			Expect(on.Volumes).To(HaveLen(len(all.Volumes)))
			for i, volume := range all.Volumes {
				if !holds[i] {
					volume.Replicas = nil
				}
				Expect(on.Volumes[i]).To(Equal(volume), node)
			}
		}
	})

	It("sees a replica fail and being rebuilt", func(ctx SpecContext) {
		Expect(stored.FailReplica(ctx, "v1", "a")).To(Succeed())
		seen := read(ctx).Volumes[0]
		Expect(seen.Robustness).To(Equal(longhorn.Degraded))
		Expect(seen.DegradedAt).To(BeTemporally("==", went))
		Expect(seen.Replicas[0]).To(Equal(longhorn.Replica{Name: "v1-r-a", Node: "a", FailedAt: went}))

		Expect(stored.StartRebuild(ctx, "v1", "a")).To(Succeed())
		Expect(read(ctx).Volumes[0].Replicas[0]).To(Equal(longhorn.Replica{Name: "v1-r-a", Node: "a", Rebuilding: true}))

		Expect(stored.FinishRebuild(ctx, "v1", "a")).To(Succeed())
		Expect(read(ctx).Volumes[0]).To(And(
			HaveField("Robustness", longhorn.Healthy), HaveField("DegradedAt", time.Time{}), HaveField("Replicas", HaveEach(HaveField("Healthy", true)))))
	})

	It("takes a replica that its engine does not use for one to be rebuilt, unless it has failed", func(ctx SpecContext) {
		Expect(stored.Change(ctx, storage.Engine, "v1-e-0", func(engine *unstructured.Unstructured) {
			unstructured.RemoveNestedField(engine.Object, "status", "replicaModeMap", "v1-r-a")
		})).To(Succeed())
		Expect(read(ctx).Volumes[0].Replicas[0].Rebuilding).To(BeTrue())
		Expect(stored.Change(ctx, storage.Replica, "v1-r-a", func(replica *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(replica.Object, went.Format(time.RFC3339), "spec", "failedAt")).To(Succeed())
		})).To(Succeed())
		Expect(read(ctx).Volumes[0].Replicas[0].Rebuilding).To(BeFalse())
	})

	DescribeTable("goes by what is recorded of a replica where no engine runs", func(ctx SpecContext, healthyAt, failedAt string, healthy bool) {
		Expect(stored.Change(ctx, storage.Replica, "v2-r-a", func(replica *unstructured.Unstructured) {
			replica.Object["spec"].(map[string]any)["healthyAt"], replica.Object["spec"].(map[string]any)["failedAt"] = healthyAt, failedAt
		})).To(Succeed())
		Expect(read(ctx).Volumes[1].Replicas[0].Healthy).To(Equal(healthy))
	},
		Entry("never healthy", "", "", false),
		Entry("failed", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z", false),
		Entry("healthy", "2026-03-01T12:00:00Z", "", true),
	)

	It("forgets users that are gone", func(ctx SpecContext) {
		Expect(stored.Change(ctx, storage.Volume, "v2", func(v *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(v.Object, went.Format(time.RFC3339), "status", "kubernetesStatus", "lastPodRefAt")).To(Succeed())
		})).To(Succeed())
		Expect(read(ctx).Volumes[1].InUse()).To(BeFalse())
	})

	It("says which object it cannot read", func(ctx SpecContext) {
		Expect(stored.Change(ctx, storage.Volume, "v2", func(v *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(v.Object, "two", "spec", "numberOfReplicas")).To(Succeed())
		})).To(Succeed())
		_, err := longhorn.Read(ctx, workload.Asking{Client: server.Client})
		Expect(err).To(MatchError(ContainSubstring("reading Volume v2 of longhorn.io")))
	})

	It("finds nothing when Longhorn has been uninstalled", func(ctx SpecContext) {
		Expect(storage.Uninstall(ctx, server.Client, storage.LonghornKinds()...)).To(Succeed())
		Eventually(func(ctx SpecContext) (*longhorn.Snapshot, error) {
			return longhorn.Read(ctx, workload.Asking{Client: server.Client})
		}).
			WithContext(ctx).Should(BeNil())
	})
})
