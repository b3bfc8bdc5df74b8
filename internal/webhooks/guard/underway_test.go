// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
)

var _ = Describe("The guard, while the host of a control plane Machine is upgraded", func() {
	var (
		kcp       *controlplanev1.KubeadmControlPlane
		elemental *infrav1.ElementalCluster
		attempt   *infrav1.ElementalHostUpgrade
	)
	begin := func(driver infrav1.UpgradeDriver, phase infrav1.UpgradePhase, slot infrav1.UpgradeSlot) {
		GinkgoHelper()
		namespace := newNamespace()
		cluster, cp := ownertest.Cluster(namespace, "c", infrav1.NodeUpgradeOption{})
		elemental, kcp = cp, ownertest.KubeadmControlPlane(namespace, "cp", "c", "t")
		create(cluster, elemental, kcp)
		machine := ownertest.ControlPlaneMachine(kcp, "m")
		attempt = &infrav1.ElementalHostUpgrade{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "up"},
			Spec: infrav1.ElementalHostUpgradeSpec{
				ClusterName: "c", MachineName: machine.Name, ElementalMachineName: machine.Name, HostName: "h", Driver: driver,
				ImageURI: "oci://x", OSVersionManagement: ownertest.OS("oci://x"),
			},
		}
		create(machine, attempt)
		attempt.Status.Phase = phase
		Expect(c.Status().Update(ctx, attempt)).To(Succeed())
		elemental.Status.UpgradeSlots = []infrav1.UpgradeSlot{slot}
		Expect(c.Status().Update(ctx, elemental)).To(Succeed())
	}
	change := func(edit func(*controlplanev1.KubeadmControlPlane)) error {
		changed := kcp.DeepCopy()
		edit(changed)
		return c.Patch(ctx, changed, client.MergeFrom(kcp))
	}
	raise := func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Version = "v1.36.4" }
	slot := infrav1.UpgradeSlot{Attempt: "up/1", Upgrade: "up", ControlPlane: true}

	It("denies what would begin a rollout of the control plane, and says which attempt it has to wait for", func() {
		begin(infrav1.DriverDirect, infrav1.UpgradeProgressing, slot)
		Expect(change(raise)).To(beDenied("the spec cannot be changed now: ElementalHostUpgrade up upgrades the host of Machine m", "set its spec.cancel"))
		Expect(change(func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Replicas = ptr.To[int32](5) })).To(Succeed())
		Expect(change(func(k *controlplanev1.KubeadmControlPlane) { k.Annotations = map[string]string{"a": "b"} })).To(Succeed())
	})

	DescribeTable("lets it pass", func(driver infrav1.UpgradeDriver, phase infrav1.UpgradePhase, held infrav1.UpgradeSlot) {
		begin(driver, phase, held)
		Expect(change(raise)).To(Succeed())
	},
		Entry("while Cluster API updates the Machine, and knows of it", infrav1.DriverClusterAPI, infrav1.UpgradeProgressing, slot),
		Entry("when the attempt has ended", infrav1.DriverDirect, infrav1.UpgradeSucceeded, slot),
		Entry("when its host is lost", infrav1.DriverDirect, infrav1.UpgradeHostLost, slot),
		Entry("before it has a slot", infrav1.DriverDirect, infrav1.UpgradeProgressing, infrav1.UpgradeSlot{Attempt: "other/1", Upgrade: "other", ControlPlane: true}),
		Entry("for a worker", infrav1.DriverDirect, infrav1.UpgradeProgressing, infrav1.UpgradeSlot{Attempt: "up/1", Upgrade: "up"}),
	)
})
