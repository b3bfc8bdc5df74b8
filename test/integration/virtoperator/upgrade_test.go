// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package virtoperator_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/pods"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

const (
	launcherImage = "quay.io/kubevirt/virt-launcher:"
	handlerImage  = "quay.io/kubevirt/virt-handler:"
)

// guest runs from the first version of KubeVirt to the next.
var guest = client.ObjectKey{Namespace: vm.Namespace, Name: "guest"}

var _ = Describe("KubeVirt with its operator", Ordered, func() {
	It("is deployed, and rolled out to the nodes", func(ctx SpecContext) {
		Eventually(handlers(ctx)).Should(areRolledOut(kubevirt.Version))
		Eventually(report(ctx)).Should(beDeployed(kubevirt.Version))
		expectProcesses(kubevirt.Version)
	}, SpecTimeout(patience))

	It("runs virtual machines and migrates them when they are evicted", func(ctx SpecContext) {
		Eventually(func() (string, error) { return vm.Unfit(ctx, theLab.WorkloadKube, nodeOne) }).Should(BeEmpty())
		_, err := vm.Create(ctx, theLab.WorkloadKube, vm.Spec{
			Name: guest.Name, EvictionStrategy: kubevirtv1.EvictionStrategyLiveMigrate, Prefer: nodeTwo,
		})
		Expect(err).NotTo(HaveOccurred())
		Eventually(instance(ctx)).Should(And(HaveField("Status.Phase", kubevirtv1.Running),
			HaveField("Status.LauncherContainerImageVersion", launcherImage+kubevirt.Version)))
		before, err := vm.Look(ctx, theLab.WorkloadKube, guest)
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() (string, error) { return vm.Unfit(ctx, theLab.WorkloadKube, nodeTwo) }).Should(BeEmpty())
		evictAway(ctx, before)
		if before.Node == nodeOne { // it must not be on the node that is switched off
			after, err := vm.Look(ctx, theLab.WorkloadKube, guest)
			Expect(err).NotTo(HaveOccurred())
			evictAway(ctx, after)
		}
	}, SpecTimeout(patience))

	It("stays in the version of its image tag when its operator is upgraded", func(ctx SpecContext) {
		// All that is rolled out stays on the first node, because the second one is switched off next.
		cordon(ctx, nodeTwo, true)
		DeferCleanup(func(ctx SpecContext) { cordon(ctx, nodeTwo, false) })
		setTag(ctx, kubevirt.Version)
		Eventually(report(ctx)).Should(beDeployed(kubevirt.Version))
		Expect(theLab.KubeVirt.ApplyOperator(ctx, kubevirt.NextVersion)).To(Succeed())
		Eventually(report(ctx)).Should(HaveField("Status.OperatorVersion", kubevirt.NextVersion))
		Eventually(report(ctx)).Should(beDeployed(kubevirt.Version))
		Consistently(report(ctx), calm).Should(HaveField("Status.TargetKubeVirtVersion", kubevirt.Version))
		expectProcesses(kubevirt.Version)
	}, SpecTimeout(patience))

	// The DaemonSet does not count a node that is down as one that wants a Pod, but the former Pod there cannot go, and is
	// the one that may be unavailable: no other is replaced.
	It("is not upgraded while a node is down, and does not say why", func(ctx SpecContext) {
		nodes[nodeTwo].cutOff()
		By("waiting until the cluster notices that the node is down")
		Eventually(handlerOn(ctx, nodeTwo)).ShouldNot(beReady())
		setTag(ctx, kubevirt.NextVersion)
		Eventually(report(ctx)).Should(HaveField("Status.TargetKubeVirtVersion", kubevirt.NextVersion))
		Eventually(handlers(ctx)).Should(HaveField("Spec.Template", haveImage(kubevirt.NextVersion)))
		Consistently(report(ctx), calm).Should(And(
			HaveField("Status.ObservedKubeVirtVersion", kubevirt.Version),
			HaveField("Status.Phase", kubevirtv1.KubeVirtPhaseDeployed),
			haveCondition(kubevirtv1.KubeVirtConditionAvailable, corev1.ConditionTrue),
			haveCondition(kubevirtv1.KubeVirtConditionProgressing, corev1.ConditionTrue),
		))
		expectProcesses(kubevirt.Version)
		for _, node := range []string{nodeOne, nodeTwo} {
			Expect(handlerOn(ctx, node)()).To(haveImage(kubevirt.Version))
		}
	}, SpecTimeout(patience))

	It("is upgraded as soon as the node is back, virt-handler first", func(ctx SpecContext) {
		nodes[nodeTwo].switchOn("boot-2")
		Eventually(report(ctx)).Should(beDeployed(kubevirt.NextVersion))
		Expect(handlers(ctx)()).To(areRolledOut(kubevirt.NextVersion))
		expectProcesses(kubevirt.NextVersion)
	}, SpecTimeout(patience))

	It("counts virtual machines with the former launcher, until they have been migrated", func(ctx SpecContext) {
		Eventually(report(ctx)).Should(HaveField("Status.OutdatedVirtualMachineInstanceWorkloads", HaveValue(Equal(1))))
		Expect(instance(ctx)()).To(And(HaveField("Labels", HaveKey(kubevirtv1.OutdatedLauncherImageLabel)),
			HaveField("Status.LauncherContainerImageVersion", launcherImage+kubevirt.Version)))
		before, err := vm.Look(ctx, theLab.WorkloadKube, guest)
		Expect(err).NotTo(HaveOccurred())
		Expect(theLab.KubeVirt.Edit(ctx, func(spec *kubevirtv1.KubeVirtSpec) {
			spec.WorkloadUpdateStrategy.WorkloadUpdateMethods = []kubevirtv1.WorkloadUpdateMethod{kubevirtv1.WorkloadUpdateMethodLiveMigrate}
		})).To(Succeed())
		Eventually(instance(ctx)).Should(And(HaveField("UID", before.UID), HaveField("Status.NodeName", Not(Equal(before.Node))),
			HaveField("Status.LauncherContainerImageVersion", launcherImage+kubevirt.NextVersion),
			HaveField("Labels", Not(HaveKey(kubevirtv1.OutdatedLauncherImageLabel)))))
		Eventually(report(ctx)).Should(HaveField("Status.OutdatedVirtualMachineInstanceWorkloads", HaveValue(BeZero())))
	}, SpecTimeout(patience))
})

func setTag(ctx context.Context, version string) {
	GinkgoHelper()
	Eventually(func() error {
		return theLab.KubeVirt.Edit(ctx, func(spec *kubevirtv1.KubeVirtSpec) { spec.ImageTag = version })
	}).Should(Succeed(), "the operator validates it")
}

// cordon makes a node unschedulable, or schedulable again.
func cordon(ctx context.Context, name string, unschedulable bool) {
	GinkgoHelper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, unschedulable)
	Expect(theLab.WorkloadKube.Patch(ctx, node, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// evictAway evicts the guest and waits until it runs on the other node.
func evictAway(ctx context.Context, before vm.State) {
	GinkgoHelper()
	Eventually(func() error { return vm.Evict(ctx, theLab.WorkloadKube, guest) }).Should(Satisfy(apierrors.IsTooManyRequests))
	Eventually(func() (vm.State, error) { return vm.Look(ctx, theLab.WorkloadKube, guest) }).Should(And(
		HaveField("UID", before.UID), HaveField("Node", Not(Equal(before.Node))), HaveField("Running()", BeTrue()), HaveField("Evacuating", BeEmpty())))
}

// expectProcesses expects exactly one process of each component, of a version.
func expectProcesses(version string) {
	GinkgoHelper()
	for _, component := range []string{pods.API, pods.Controller} {
		Eventually(func() []string { return theLab.KubeVirt.Pods.Images(component) }).Should(ConsistOf(HaveSuffix(component + ":" + version)))
	}
}

func report(ctx context.Context) func() (*kubevirtv1.KubeVirt, error) {
	return func() (*kubevirtv1.KubeVirt, error) { return theLab.KubeVirt.Look(ctx) }
}

func instance(ctx context.Context) func() (*kubevirtv1.VirtualMachineInstance, error) {
	return func() (*kubevirtv1.VirtualMachineInstance, error) {
		object := &kubevirtv1.VirtualMachineInstance{}
		return object, theLab.WorkloadKube.Get(ctx, guest, object)
	}
}

func handlers(ctx context.Context) func() (*appsv1.DaemonSet, error) {
	return func() (*appsv1.DaemonSet, error) {
		object := &appsv1.DaemonSet{}
		key := client.ObjectKey{Namespace: kubevirt.Namespace, Name: pods.Handler}
		return object, theLab.WorkloadKube.Get(ctx, key, object)
	}
}

// handlerOn is the Pod of virt-handler on a node.
func handlerOn(ctx context.Context, node string) func() (*corev1.Pod, error) {
	return func() (*corev1.Pod, error) {
		list := &corev1.PodList{}
		err := theLab.WorkloadKube.List(ctx, list, client.InNamespace(kubevirt.Namespace), client.MatchingLabels{kubevirtv1.AppLabel: pods.Handler})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if list.Items[i].Spec.NodeName == node {
				return &list.Items[i], nil
			}
		}
		return nil, fmt.Errorf("no Pod of virt-handler is on node %s", node)
	}
}
