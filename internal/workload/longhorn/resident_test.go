// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
)

// broken is an API server that lists objects of no kind, or no Pods.
type broken struct {
	client.Client
	onlyPods bool
}

func (b broken) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, pods := list.(*corev1.PodList); b.onlyPods && !pods {
		return b.Client.List(ctx, list, options...)
	}
	return errors.New("no answer")
}

var _ = Describe("Longhorn as a resident", Ordered, func() {
	var (
		resident longhorn.Resident
		stored   *storage.Longhorn
		cluster  *workload.Cluster
	)
	refused := func(ctx context.Context, node, component string) (string, error) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"longhorn.io/component": component}}}
		return resident.RefusedBecause(ctx, cluster, node, []*corev1.Pod{pod})
	}

	BeforeAll(func(ctx SpecContext) {
		cluster = workload.New(server.Client, server.Client)
		Expect(resident.Read(ctx, workload.Asking{Client: server.Client})).To(BeNil())
		Expect(resident.Attached(ctx, cluster, "a")).To(BeEmpty())
		Expect(resident.Hold(ctx, cluster, "a/1")).To(Succeed())
		var err error
		stored, err = storage.NewLonghorn(ctx, server.Client, clocktesting.NewFakePassiveClock(went))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) error { return storage.Uninstall(ctx, server.Client) })
		Expect(stored.AddVolume(ctx, storage.VolumeSpec{Name: "v1", Nodes: []string{"b", "c"}, AttachedTo: "a", Claim: "default/data"})).To(Succeed())
		Expect(stored.AddVolume(ctx, storage.VolumeSpec{Name: "v2", Nodes: []string{"b", "c"}, AttachedTo: "a"})).To(Succeed())
		Expect(stored.AddVolume(ctx, storage.VolumeSpec{Name: "v3", Nodes: []string{"d"}})).To(Succeed())
	})

	It("names the volumes for whose sake it keeps its instance manager", func(ctx SpecContext) {
		Expect(refused(ctx, "a", "instance-manager")).To(Equal("; Longhorn volumes attached to Node a: v1 (PersistentVolumeClaim default/data), v2"))
		Expect(refused(ctx, "d", "instance-manager")).To(Equal("; Longhorn volumes whose last healthy replica is on Node d: v3"))
		Expect(refused(ctx, "a", "share-manager")).To(BeEmpty())
	})

	It("names the attached volumes that no Pod uses which stays", func(ctx SpecContext) {
		Expect(resident.Attached(ctx, cluster, "a")).To(HaveExactElements("v1 (PersistentVolumeClaim default/data)", "v2"))
		Expect(server.Client.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "user"},
			Spec: corev1.PodSpec{NodeName: "a", Containers: []corev1.Container{{Name: "c", Image: "i"}}, Volumes: []corev1.Volume{{Name: "data",
				VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}},
		})).To(Succeed())
		Expect(resident.Attached(ctx, cluster, "a")).To(HaveExactElements("v2"))
	})

	It("waits for replicas to be rebuilt", func(ctx SpecContext) {
		Expect(resident.Unsettled(ctx, cluster, "b", went)).To(BeEmpty())
		Expect(stored.FailReplica(ctx, "v2", "b")).To(Succeed())
		Expect(resident.Unsettled(ctx, cluster, "b", went.Add(-time.Minute))).To(Equal("waiting for Longhorn to rebuild the replicas on Node b of volumes v2"))
		Expect(resident.Read(ctx, workload.Asking{Client: server.Client})).NotTo(BeNil())
	})

	It("takes what it cannot read for an error", func(ctx SpecContext) {
		cluster = workload.New(server.Client, broken{Client: server.Client, onlyPods: true})
		_, err := resident.Attached(ctx, cluster, "a")
		Expect(err).To(MatchError(ContainSubstring("listing Pods")))
		cluster = workload.New(server.Client, broken{Client: server.Client})
		for _, ask := range []func() (string, error){
			func() (string, error) { return refused(ctx, "a", "instance-manager") },
			func() (string, error) { return resident.Unsettled(ctx, cluster, "a", went) },
			func() (string, error) { _, err := resident.Attached(ctx, cluster, "a"); return "", err },
			func() (string, error) {
				_, err := resident.Read(ctx, workload.Asking{Client: cluster.Live()})
				return "", err
			},
		} {
			_, err := ask()
			Expect(err).To(MatchError(ContainSubstring("no answer")))
		}
	})
})
