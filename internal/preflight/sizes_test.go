// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"time"

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
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
)

// sized is a cluster of a few nodes, n-0 and so on, all of them workers beside a control plane elsewhere, or all of them its control plane. It has
// KubeVirt with a virtual machine on n-0, and Longhorn, and is as well as a cluster of its size can be. n-0 is to be upgraded.
func sized(nodes int, isControlPlane bool, changes ...change) (*Snapshot, *Subject) {
	s, subject := typical(ofElementalCluster(true))
	s.Nodes, s.Machines = nil, nil
	volume := longhorn.Volume{Name: "pv", Wanted: 3, State: longhorn.Attached, Robustness: longhorn.Healthy, Node: "n-0"}
	if nodes < volume.Wanted {
		volume.Robustness = longhorn.Degraded
	}
	for i := range nodes {
		node, machine := newNode(fmt.Sprintf("n-%d", i)), clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m-%d", i)}}
		node.Labels = map[string]string{kubevirtv1.NodeSchedulable: "true"}
		node.Annotations = map[string]string{kubevirtv1.VirtHandlerHeartbeat: s.Now.Format(time.RFC3339)}
		machine.Status.NodeRef.Name = node.Name
		if isControlPlane {
			machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		}
		s.Nodes, s.Machines = append(s.Nodes, *node), append(s.Machines, machine)
		volume.Replicas = append(volume.Replicas, longhorn.Replica{Name: "r-" + node.Name, Node: node.Name, Healthy: true})
	}
	subject.Node, subject.Machine = &s.Nodes[0], &s.Machines[0]
	s.Residents = []workload.Resident{kubevirt.Resident{}, longhorn.Resident{}}
	s.States = map[string]workload.State{"KubeVirt": deployed(), "Longhorn": &longhorn.Snapshot{Volumes: []longhorn.Volume{volume}}}
	for _, change := range changes {
		change(s, subject)
	}
	return s, subject
}

// deployed is KubeVirt, well, with virtual machine default/vm on n-0.
func deployed() *kubevirt.Installation {
	of := kubevirtv1.KubeVirt{ObjectMeta: metav1.ObjectMeta{Name: "kubevirt", Generation: 1}}
	of.Status = kubevirtv1.KubeVirtStatus{
		Phase: kubevirtv1.KubeVirtPhaseDeployed, ObservedGeneration: new(int64(1)), ObservedDeploymentID: "id", TargetDeploymentID: "id",
		ObservedKubeVirtVersion: "v1.7.0", TargetKubeVirtVersion: "v1.7.0",
		Conditions: []kubevirtv1.KubeVirtCondition{
			{Type: kubevirtv1.KubeVirtConditionAvailable, Status: corev1.ConditionTrue},
			{Type: kubevirtv1.KubeVirtConditionProgressing, Status: corev1.ConditionFalse},
			{Type: kubevirtv1.KubeVirtConditionDegraded, Status: corev1.ConditionFalse},
			{Type: kubevirtv1.KubeVirtConditionCreated, Status: corev1.ConditionTrue},
		},
	}
	return &kubevirt.Installation{
		Installations: []kubevirtv1.KubeVirt{of}, Interceptor: true,
		Places: map[types.NamespacedName]string{{Namespace: "default", Name: "vm"}: "n-0"},
	}
}

// ofKubeVirt, ofLonghorn and ofNode change a part of a sized cluster.
func ofKubeVirt(edit func(*kubevirt.Installation)) change {
	return func(s *Snapshot, _ *Subject) { edit(s.States["KubeVirt"].(*kubevirt.Installation)) }
}

func ofLonghorn(edit func(*longhorn.Snapshot)) change {
	return func(s *Snapshot, _ *Subject) { edit(s.States["Longhorn"].(*longhorn.Snapshot)) }
}

func ofNode(edit func(*corev1.Node)) change {
	return func(_ *Snapshot, subject *Subject) { edit(subject.Node) }
}

// single adds a volume with one replica, on n-0, that is in use.
func single(s *longhorn.Snapshot) {
	s.Volumes = append(s.Volumes, longhorn.Volume{
		Name: "single", Wanted: 1, State: longhorn.Attached, Robustness: longhorn.Healthy, Node: "n-0",
		Replicas: []longhorn.Replica{{Name: "r", Node: "n-0", Healthy: true}},
	})
}

// moving adds a migration of the virtual machine.
func moving(phase kubevirtv1.VirtualMachineInstanceMigrationPhase) change {
	return ofKubeVirt(func(k *kubevirt.Installation) {
		migration := kubevirtv1.VirtualMachineInstanceMigration{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "move"}}
		migration.Spec.VMIName, migration.Status.Phase = "vm", phase
		k.Migrations = append(k.Migrations, migration)
	})
}

// defects are what each check is there for, in a cluster of any size.
var defects = map[string][]change{
	"Paused": {func(_ *Snapshot, subject *Subject) {
		subject.Machine.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	}},
	"Approved":      {func(_ *Snapshot, subject *Subject) { subject.Host.Spec.Approved = false }},
	"Quarantine":    {digest, quarantined("sha256:new")},
	"OtherAttempt":  {func(_ *Snapshot, subject *Subject) { subject.Rival = &infrav1.ElementalHostUpgrade{} }},
	"OtherUpgrades": {others()},
	"NodeReady":     {notReady},
	"NodeHealth": {func(s *Snapshot, subject *Subject) {
		s.Unhealthy = map[string][]infrav1.UnhealthyObject{subject.Node.Name: {{Kind: infrav1.UnhealthyDaemonSet, Namespace: "kube-system", Name: "cni"}}}
	}},
	"NodeSchedulable": {cordoned},
	"Maintenance":     {ofNode(func(node *corev1.Node) { node.Annotations[harvesterMaintenance] = "running" })},
	"OtherNodes": {func(s *Snapshot, _ *Subject) {
		if len(s.Nodes) > 1 {
			s.Nodes[1].Status.Conditions = nil
		}
	}},
	"Machines": {withHost("x"), func(s *Snapshot, _ *Subject) {
		machine := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
		machine.Spec.InfrastructureRef.Name, machine.Status.Phase = "em-x", string(clusterv1.MachinePhaseProvisioned)
		s.Machines = append(s.Machines, machine)
	}},
	"ControlPlaneQuorum": {ofElementalCluster(false), func(s *Snapshot, _ *Subject) {
		if len(s.Nodes) > 1 {
			s.Nodes[1].Status.Conditions = nil
		}
	}},
	"KubeletVersion": {oldKubelet, func(_ *Snapshot, subject *Subject) { subject.Machine.Spec.Version = "v1.36.3" }},
	"Certificates": {func(s *Snapshot, subject *Subject) {
		expires(day)(s, subject)
		s.Machines[len(s.Machines)-1].Status.NodeRef.Name = subject.Node.Name // it is one of those that there are
	}},
	"KubeVirt":    {ofKubeVirt(func(k *kubevirt.Installation) { k.Installations[0].Status.Phase = kubevirtv1.KubeVirtPhaseDeploying })},
	"VirtAPI":     {ofKubeVirt(func(k *kubevirt.Installation) { k.API = "does not serve" })},
	"VirtHandler": {ofNode(func(node *corev1.Node) { node.Labels = nil })},
	"Migrations":  {moving(kubevirtv1.MigrationRunning)},
	"Volumes":     {ofLonghorn(single)},
	"Backups":     {backups()},
}

// verdict of a check on its defect, in a cluster of a size: what a user can mend blocks, and what cannot be had there warns.
func verdictOf(check string, nodes int, isControlPlane bool) infrav1.PreflightVerdict {
	switch {
	case check == "KubeletVersion", check == "NodeHealth", check == "OtherNodes" && nodes == 1, check == "Volumes" && nodes == 1:
		return infrav1.PreflightWarn
	case check == "ControlPlaneQuorum" && !isControlPlane:
		return infrav1.PreflightPass
	}
	return infrav1.PreflightBlock
}

var _ = Describe("In a cluster of few nodes", func() {
	for _, check := range Checks(kubevirt.Resident{}, longhorn.Resident{}) {
		for nodes := 1; nodes <= 3; nodes++ {
			for _, isControlPlane := range []bool{false, true} {
				It(fmt.Sprintf("check %s says what it is there for: %d nodes, control plane %t", check.Name, nodes, isControlPlane), func() {
					Expect(defects).To(HaveKey(check.Name))
					worst := infrav1.PreflightPass
					for _, result := range Run(first(sized(nodes, isControlPlane, defects[check.Name]...))) {
						if result.Check == check.Name && (result.Verdict == infrav1.PreflightBlock || worst == infrav1.PreflightPass) {
							worst = result.Verdict
						}
					}
					Expect(worst).To(Equal(verdictOf(check.Name, nodes, isControlPlane)))
				})
			}
		}
	}

	DescribeTable("nothing blocks that cannot be had there, and what will be down is said", func(nodes int, isControlPlane bool, expected ...string) {
		s, subject := sized(nodes, isControlPlane, moving(kubevirtv1.MigrationPending))
		lines := []string{}
		for _, result := range Run(s, subject, nil, nil) {
			lines = append(lines, fmt.Sprintf("%s %s: %s", result.Verdict, result.Check, result.Message))
		}
		Expect(lines).To(HaveLen(len(expected)), "%v", lines)
		for i := range expected {
			Expect(lines[i]).To(HavePrefix(expected[i]))
		}
	},
		Entry("one worker", 1, false, onlyNode, noTarget, notTaken, volumesGoDown),
		Entry("one control plane node", 1, true, onlyNode, quorumLoss, noTarget, notTaken, volumesGoDown),
		Entry("two workers", 2, false, isMoving, onOther),
		Entry("two control plane nodes", 2, true, quorumLoss, isMoving, onOther),
		Entry("three workers", 3, false, isMoving),
		Entry("three control plane nodes", 3, true, isMoving),
	)
})

const (
	onlyNode      = "Warn OtherNodes: is the only Node of its cluster: it is neither cordoned nor drained, and all that runs on it is down"
	quorumLoss    = "Warn ControlPlaneQuorum: loses its API while Node n-0 is down"
	noTarget      = "Warn VirtHandler: has virtual machines, and no other node can take any"
	notTaken      = "Warn Migrations: is to move virtual machine vm, and no other node can take it"
	isMoving      = "Block Migrations: moves virtual machine vm from or to the node: wait until that is done, or delete it"
	volumesGoDown = "Warn Volumes: can have replicas on Node n-0 only, and what uses it is down until that is back"
	onOther       = "Warn Volumes: wants 3 replicas and 2 nodes can hold one: while Node n-0 is down, its data is on Node n-1 only"
)

// first are the arguments of Run.
func first(s *Snapshot, subject *Subject) (*Snapshot, *Subject, Waivers, func(infrav1.PreflightResult)) {
	return s, subject, nil, nil
}

// Nodes of servers of K3s, RKE2 and kubeadm.
func server(version string, labels, annotations map[string]string) change {
	return func(s *Snapshot, subject *Subject) {
		for i := range s.Nodes {
			s.Nodes[i].Status.NodeInfo.KubeletVersion = version
			s.Nodes[i].Labels = map[string]string{controlPlaneRole: "true"}
			for key, value := range labels {
				s.Nodes[i].Labels[key] = value
			}
			s.Nodes[i].Annotations = annotations
		}
	}
}

// judged has KubeadmControlPlane judge its Machines.
func judged(names ...string) change {
	return func(s *Snapshot, _ *Subject) {
		for i := range s.Machines {
			for _, name := range append([]string{"APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy"}, names...) {
				s.Machines[i].Status.Conditions = append(s.Machines[i].Status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue})
			}
		}
	}
}

var _ = DescribeTable("a control plane of two has a quorum to lose unless it is certain that its datastore is elsewhere", func(expected []string, changes ...change) {
	changes = append([]change{controlPlaneOf(2, 0), ofElementalCluster(false)}, changes...)
	Expect(findings(checkQuorum, changes...)).To(HaveExactElements(expected))
},
	Entry("of which nothing is known", losesQuorum),
	Entry("K3s with an external datastore", nil, server("v1.36.3+k3s1", nil, nil)),
	Entry("K3s with etcd, by its role", losesQuorum, server("v1.36.3+k3s1", map[string]string{etcdRole: "true"}, nil)),
	Entry("K3s with etcd, by its member", losesQuorum, server("v1.36.3+k3s1", nil, map[string]string{k3sMember: "n"})),
	Entry("RKE2 with an external datastore", nil, server("v1.36.3+rke2r1", nil, nil)),
	Entry("RKE2 with etcd, by its member", losesQuorum, server("v1.36.3+rke2r1", nil, map[string]string{rke2Member: "n"})),
	Entry("RKE2 with etcd, by its static Pod", losesQuorum, server("v1.36.3+rke2r1", nil, nil), staticPod("etcd", "node-cp-1", corev1.ConditionTrue), staticPod("etcd", "node-cp-0", corev1.ConditionTrue)),
	Entry("K3s, one of which is not known for a server", losesQuorum, server("v1.36.3+k3s1", nil, nil), func(s *Snapshot, _ *Subject) {
		s.Nodes[len(s.Nodes)-1].Labels = nil
	}),
	Entry("kubeadm, of which nothing says where etcd is", losesQuorum, server("v1.36.3", nil, nil)),
	Entry("KubeadmControlPlane with external etcd", nil, judged()),
	Entry("KubeadmControlPlane with etcd", losesQuorum, judged("EtcdPodHealthy", "EtcdMemberHealthy")),
	Entry("KubeadmControlPlane, with a Machine that it has not judged", losesQuorum, judged(), func(s *Snapshot, _ *Subject) { s.Machines[1].Status.Conditions = nil }),
	Entry("K3s with an external datastore, whose other server is down", []string{"Block Cluster/c: has 2 control plane nodes and the API needs 1 of them while this one " +
		"is down, but the Node of Machine cp-1 is not Ready: bring them back first"}, server("v1.36.3+k3s1", nil, nil), func(s *Snapshot, _ *Subject) {
		s.Nodes[len(s.Nodes)-1].Status.Conditions = nil
	}),
	Entry("K3s with an external datastore, of one server", []string{"Block Cluster/c: loses its API while Node n is down (for how long is not known yet): " +
		"no other control plane node serves it. Set nodeUpgradeOption.allowQuorumLoss in ElementalCluster e to permit that"},
		server("v1.36.3+k3s1", nil, nil), func(s *Snapshot, _ *Subject) { s.Machines = s.Machines[:1] }),
)

var losesQuorum = []string{"Block Cluster/c: loses its API while Node n is down (for how long is not known yet): " +
	"etcd has no majority without it. Set nodeUpgradeOption.allowQuorumLoss in ElementalCluster e to permit that"}
