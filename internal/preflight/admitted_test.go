// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

var _ = DescribeTable("An attempt that has taken its slot", func(check string, verdict infrav1.PreflightVerdict, changes ...func(*Snapshot, *Subject)) {
	found := func(admitted bool) []infrav1.PreflightResult {
		s, subject := typical(changes...)
		subject.Admitted = admitted
		return Run(s, subject, nil, nil)
	}
	blocks := And(HaveField("Check", check), HaveField("Verdict", infrav1.PreflightBlock))
	Expect(found(false)).To(ContainElement(blocks), "before it has")
	if verdict == infrav1.PreflightPass {
		Expect(found(true)).NotTo(ContainElement(HaveField("Check", check)))
		return
	}
	Expect(found(true)).To(ContainElement(And(HaveField("Check", check), HaveField("Verdict", verdict))))
},
	Entry("is held by a person", "Paused", infrav1.PreflightBlock, func(_ *Snapshot, subject *Subject) {
		subject.Machine.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	}),
	Entry("is held by its host's approval", "Approved", infrav1.PreflightBlock, func(_ *Snapshot, subject *Subject) { subject.Host.Spec.Approved = false }),
	Entry("is held by a bad image", "Quarantine", infrav1.PreflightBlock, digest, quarantined("sha256:new")),
	Entry("is held by another attempt on its host", "OtherAttempt", infrav1.PreflightBlock, func(_ *Snapshot, subject *Subject) {
		subject.Rival = &infrav1.ElementalHostUpgrade{}
	}),
	Entry("is held by another controller that changes the cluster", "OtherUpgrades", infrav1.PreflightBlock, others()),
	Entry("is held by another controller that changes its node", "OtherUpgrades", infrav1.PreflightBlock, others("other", "n")),
	Entry("is not held by another controller that changes another node", "OtherUpgrades", infrav1.PreflightWarn, others("other")),
	Entry("is not held by another host", "OtherUpgrades", infrav1.PreflightWarn, withHost("other"), byHand(1)),
	Entry("is not held by its own node", "NodeReady", infrav1.PreflightWarn, notReady),
	Entry("is held by a person's cordon until it has cordoned the node itself", "NodeSchedulable", infrav1.PreflightBlock, cordoned),
	Entry("is not held by another node", "OtherNodes", infrav1.PreflightWarn, func(s *Snapshot, _ *Subject) {
		other := newNode("other")
		other.Status.Conditions = nil
		s.Nodes = append(s.Nodes, *other)
		machine := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
		machine.Status.NodeRef.Name = "other"
		s.Machines = append(s.Machines, machine)
	}),
	Entry("is held by the quorum of etcd", "ControlPlaneQuorum", infrav1.PreflightBlock, func(s *Snapshot, _ *Subject) {
		s.Machines[0].Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
	}),
	Entry("is not held by KubeVirt as a whole", "KubeVirt", infrav1.PreflightWarn, withKubeVirt(func(k *kubevirt.Installation) {
		k.Installations = []kubevirtv1.KubeVirt{{ObjectMeta: metav1.ObjectMeta{Name: "kubevirt"}}}
	})),
	Entry("is held by virt-api while virtual machines are on its node", "VirtAPI", infrav1.PreflightBlock, withKubeVirt(func(k *kubevirt.Installation) {
		k.API, k.Places = "is not Available", map[types.NamespacedName]string{{Name: "a"}: "n"}
	})),
	Entry("is not held by virt-api once they have left", "VirtAPI", infrav1.PreflightPass, withKubeVirt(func(k *kubevirt.Installation) { k.API = "is not Available" })),
	Entry("is held by somebody else's migration from its node", "Migrations", infrav1.PreflightBlock, withKubeVirt(func(k *kubevirt.Installation) {
		k.Places = map[types.NamespacedName]string{{Name: "a"}: "n"}
		k.Migrations = []kubevirtv1.VirtualMachineInstanceMigration{{
			Spec:   kubevirtv1.VirtualMachineInstanceMigrationSpec{VMIName: "a"},
			Status: kubevirtv1.VirtualMachineInstanceMigrationStatus{Phase: kubevirtv1.MigrationRunning},
		}}
	})),
	Entry("is held by a Plan that names its node by the label of its host name", "OtherUpgrades", infrav1.PreflightBlock, func(s *Snapshot, subject *Subject) {
		others("n.example.com")(s, subject)
		subject.Node = subject.Node.DeepCopy()
		subject.Node.Labels = map[string]string{corev1.LabelHostname: "n.example.com"}
	}),
	Entry("is held by a backup of which no node is known", "Backups", infrav1.PreflightBlock, backups()),
	Entry("is held by a backup on its node", "Backups", infrav1.PreflightBlock, backups("n")),
	Entry("is not held by a backup on another node", "Backups", infrav1.PreflightWarn, backups("other")),
)

func others(nodes ...string) change {
	return func(s *Snapshot, _ *Subject) {
		s.Foreign = []workload.Job{{Object: "Plan/os", Doing: "is at work", Nodes: nodes}}
	}
}

func backups(nodes ...string) change {
	return func(s *Snapshot, _ *Subject) {
		s.Jobs = []workload.Job{{Object: "VolumeSnapshot/default/daily", Doing: "a snapshot is being taken", Nodes: nodes}}
	}
}

func withKubeVirt(change func(*kubevirt.Installation)) func(*Snapshot, *Subject) {
	return func(s *Snapshot, _ *Subject) {
		k := &kubevirt.Installation{Interceptor: true, Handlers: map[string]bool{}}
		change(k)
		s.Residents = []workload.Resident{kubevirt.Resident{}}
		s.States = map[string]workload.State{"KubeVirt": k}
	}
}
