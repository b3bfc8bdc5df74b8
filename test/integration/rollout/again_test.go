// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// rounds is how often a rollout is superseded. Without capiworkaround.Pause, about one in seventy lost a Machine.
const rounds = 10

// pauses is how often a rollout is paused. Without the webhook's rejection, about one in three loses a Machine.
const pauses = 3

var _ = Describe("A template that is patched repeatedly", Ordered, func() {
	var (
		cluster *scenario.Cluster
		before  []scenario.Identity
	)

	BeforeAll(func(ctx SpecContext) {
		cluster = suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{}), scenario.Options{})
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	It("loses no Machine, although each rollout is superseded between two of them", func(ctx SpecContext) {
		for round := range rounds {
			former := reference(ctx, cluster)
			note(ctx, cluster, round)
			Eventually(reference).WithContext(ctx).WithArguments(cluster).ShouldNot(Equal(former), "round %d", round)
			Eventually(isBetween, specs.Patience, "20ms").WithContext(ctx).WithArguments(cluster).Should(BeTrue(), "round %d", round)
		}

		Eventually(behind).WithContext(ctx).WithArguments(cluster).Should(BeEmpty())
		Expect(cluster.AwaitImage(ctx, cluster.Image)).To(Succeed())
		expectKept(ctx, cluster, before)
		Expect(upgradesOf(cluster.Lab.Hosts()[0])).To(BeZero(), "all of this was about an image that all hosts run")
		deployment := &clusterv1.MachineDeployment{}
		Expect(cluster.Lab.Kube.Get(ctx, poolKey(cluster), deployment)).To(Succeed())
		Expect(annotations.HasPaused(deployment)).To(BeFalse())
	})

	It("loses no Machine, although each rollout is paused while one is moved", func(ctx SpecContext) {
		for round := range pauses {
			moves := watchMoves(ctx, cluster)
			note(ctx, cluster, rounds+round)
			Eventually(moves).WithPolling(10*time.Millisecond).Should(BeClosed(), "round %d", round)
			Eventually(setPaused).WithContext(ctx).WithArguments(cluster, true).Should(Succeed(), "round %d", round)
			Consistently(cluster.Identities, "3s").WithContext(ctx).Should(Equal(before), "round %d", round)
			Expect(setPaused(ctx, cluster, false)).To(Succeed())
			Eventually(behind).WithContext(ctx).WithArguments(cluster).Should(BeEmpty(), "round %d", round)
		}
		Expect(cluster.AwaitImage(ctx, cluster.Image)).To(Succeed())
		expectKept(ctx, cluster, before)
	})
})

// setPaused does what clusterctl alpha rollout pause and resume do.
func setPaused(ctx context.Context, cluster *scenario.Cluster, is bool) error {
	deployment := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(), Name: scenario.Template}}
	return cluster.Lab.Kube.Patch(ctx, deployment, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"paused":%t}}`, is)))
}

// watchMoves returns a channel that is closed when a Machine is being moved from one MachineSet to another, which
// Cluster API does too quickly for polling.
func watchMoves(ctx context.Context, cluster *scenario.Cluster) <-chan struct{} {
	GinkgoHelper()
	come := make(chan struct{})
	suite.Changes(ctx, cluster.Lab.Kube, &clusterv1.MachineList{}, func(event watch.Event) bool {
		machine, isMachine := event.Object.(*clusterv1.Machine)
		if !isMachine || !metav1.HasAnnotation(machine.ObjectMeta, clusterv1.PendingAcknowledgeMoveAnnotation) {
			return false
		}
		close(come)
		return true
	}, client.InNamespace(cluster.Namespace()))
	return come
}

// note changes the content of the template, but not the image.
func note(ctx context.Context, cluster *scenario.Cluster, round int) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"osVersionManagement":{"osVersion":{"note":"%d"}}}}}}`, round)
	_, err := cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalmachinetemplate", scenario.Template, "--type", "merge", "--patch", patch)
	Expect(err).NotTo(HaveOccurred())
}

func poolKey(cluster *scenario.Cluster) client.ObjectKey {
	return client.ObjectKey{Namespace: cluster.Namespace(), Name: scenario.Template}
}

// reference is the template that the MachineDeployment refers to.
func reference(ctx context.Context, cluster *scenario.Cluster) string {
	GinkgoHelper()
	deployment := &clusterv1.MachineDeployment{}
	Expect(cluster.Lab.Kube.Get(ctx, poolKey(cluster), deployment)).To(Succeed())
	return deployment.Spec.Template.Spec.InfrastructureRef.Name
}

// isBetween reports whether a rollout has updated a Machine and has not started the next one.
func isBetween(ctx context.Context, cluster *scenario.Cluster) (bool, error) {
	left, err := behind(ctx, cluster)
	if err != nil {
		return false, err
	}
	machines, err := cluster.Machines(ctx)
	for i := range machines {
		if _, updating := machines[i].Annotations[clusterv1.UpdateInProgressAnnotation]; updating {
			return false, err
		}
	}
	return len(left) > 0 && len(left) < len(machines), err
}

// behind are the Machines that Cluster API has not updated to the reference.
func behind(ctx context.Context, cluster *scenario.Cluster) ([]string, error) {
	wanted := reference(ctx, cluster)
	list := &infrav1.ElementalMachineList{}
	err := cluster.Lab.Kube.List(ctx, list, client.InNamespace(cluster.Namespace()))
	names := []string{}
	for i := range list.Items {
		if list.Items[i].Annotations[clusterv1.TemplateClonedFromNameAnnotation] != wanted {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, err
}
