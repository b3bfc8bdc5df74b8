// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/nspawn"
)

const (
	// nodeName of the host with a kubelet.
	nodeName = "boot-node"
	// podMemory is a limit that no other control group has.
	podMemory = "67108864"
)

var _ = Describe("A host with systemd, containerd and the kubelet on cgroup v2", Label("systemd"), Ordered, func() {
	var (
		h   *host
		pod *corev1.Pod
	)

	BeforeAll(func(ctx SpecContext) {
		h = newHostWith(ctx, realSystemd())
		Eventually(node).WithContext(ctx).Should(isReadyWith("v1"))
		pod = newPod(ctx)
		Eventually(podReady).WithContext(ctx).WithArguments(pod).Should(BeTrue())
	})

	It("limits its Pods by control groups that systemd has made", func() {
		h.await("memory.max " + podMemory + " in /sys/fs/cgroup/kubepods.slice/")
	})

	It("is upgraded by the agent under its unit, and runs its Pods again", func(ctx SpecContext) {
		before, err := node(ctx)
		Expect(err).NotTo(HaveOccurred())
		h.upgradesTo(ctx, "v2")
		Eventually(node).WithContext(ctx).Should(And(
			isReadyWith("v2"), HaveField("Status.NodeInfo.BootID", Not(Equal(before.Status.NodeInfo.BootID))), HaveField("UID", before.UID),
		))
		Eventually(podRestarts).WithContext(ctx).WithArguments(pod).Should(BeNumerically(">", 0))
		Eventually(podReady).WithContext(ctx).WithArguments(pod).Should(BeTrue())
	})

	It("falls back from an image with a unit that fails", func(ctx SpecContext) {
		bad := h.push(ctx, "v3-bad", files(nspawn.FailingUnit))
		h.upgrade(ctx, bad)
		status := h.awaitEnd(ctx, bad)
		Expect(status.Upgrade.Phase).To(Equal(infrav1.HostUpgradeRolledBack), status.Upgrade.Message)
		Expect(status.Upgrade.Message).To(ContainSubstring("units failed that had not failed before: broken.service"))
		Expect(status.OS.Version).To(Equal("v2"))
		Eventually(node).WithContext(ctx).Should(isReadyWith("v2"))
	})
})

func node(ctx context.Context) (*corev1.Node, error) {
	found := &corev1.Node{}
	return found, client.IgnoreNotFound(plane.Client.Get(ctx, client.ObjectKey{Name: nodeName}, found))
}

// isReadyWith matches a Node that is Ready with a version of the OS.
func isReadyWith(version string) OmegaMatcher {
	isReady := And(HaveField("Type", corev1.NodeReady), HaveField("Status", corev1.ConditionTrue))
	return HaveField("Status", And(HaveField("NodeInfo.OSImage", version), HaveField("Conditions", ContainElement(isReady))))
}

// newPod creates a Pod on the Node, with a limit for its memory.
func newPod(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "limited"}, Spec: corev1.PodSpec{
		NodeName: nodeName, HostNetwork: true, AutomountServiceAccountToken: ptr.To(false), TerminationGracePeriodSeconds: ptr.To[int64](1),
		Containers: []corev1.Container{{
			Name: "pod", Image: podImage, ImagePullPolicy: corev1.PullNever,
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(podMemory)}},
		}},
	}}
	Expect(plane.Client.Create(ctx, made)).To(Succeed())
	return made
}

func podReady(ctx context.Context, of *corev1.Pod) (bool, error) {
	err := plane.Client.Get(ctx, client.ObjectKeyFromObject(of), of)
	for _, condition := range of.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue, err
		}
	}
	return false, err
}

func podRestarts(ctx context.Context, of *corev1.Pod) (restarts int32, err error) {
	err = plane.Client.Get(ctx, client.ObjectKeyFromObject(of), of)
	for _, container := range of.Status.ContainerStatuses {
		restarts += container.RestartCount
	}
	return restarts, err
}
