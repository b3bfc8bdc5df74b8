// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

type change = func(*Installation, *workload.Question)

const staysOutdated = "Warn KubeVirt/kubevirt: has 3 virtual machines that still run in launchers of a former version: " +
	"those that can be migrated get a new one when their node is evacuated, restart the others when it suits"

var _ = DescribeTable("a check of KubeVirt", func(run func(*Installation, workload.Question) []infrav1.PreflightResult, expected []string, changes ...change) {
	q := workload.Question{Nodes: []corev1.Node{*readyNode("n")}}
	q.Node = &q.Nodes[0]
	k := &Installation{}
	for _, change := range changes {
		change(k, &q)
	}
	lines := []string{}
	for _, result := range run(k, q) {
		lines = append(lines, fmt.Sprintf("%s %s: %s", result.Verdict, result.Object, result.Message))
	}
	Expect(lines).To(HaveExactElements(expected))
},
	Entry("well", checkKubeVirt, nil, kubeVirt),
	Entry("being updated", checkKubeVirt, []string{"Block KubeVirt/kubevirt: is being updated from v1.7.0 to v1.8.0: wait until that is done"},
		kubeVirt, reports(func(k *kubevirtv1.KubeVirt) {
			k.Status.TargetKubeVirtVersion, k.Status.TargetDeploymentID = "v1.8.0", "id-2"
		})),
	Entry("reconfigured", checkKubeVirt, []string{"Block KubeVirt/kubevirt: is being updated from v1.7.0 to v1.7.0: wait until that is done"},
		kubeVirt, reports(func(k *kubevirtv1.KubeVirt) { k.Status.TargetDeploymentID = "id-2" })),
	Entry("without a deployment", checkKubeVirt, []string{"Block KubeVirt/kubevirt: is being updated from v1.7.0 to v1.7.0: wait until that is done"},
		kubeVirt, reports(func(k *kubevirtv1.KubeVirt) { k.Status.ObservedDeploymentID, k.Status.TargetDeploymentID = "", "" })),
	Entry("without a version", checkKubeVirt, []string{"Block KubeVirt/kubevirt: is being updated from nothing to nothing: wait until that is done"},
		kubeVirt, reports(func(k *kubevirtv1.KubeVirt) {
			k.Status.ObservedKubeVirtVersion, k.Status.TargetKubeVirtVersion = "", ""
		})),
	Entry("another version by the same deployment", checkKubeVirt, []string{"Block KubeVirt/kubevirt: is being updated from v1.7.0 to v1.8.0: wait until that is done"},
		kubeVirt, reports(func(k *kubevirtv1.KubeVirt) { k.Status.TargetKubeVirtVersion = "v1.8.0" })),
	Entry("not observed", checkKubeVirt, []string{"Block KubeVirt/kubevirt: was changed and virt-operator has not acted on that yet: wait until it has"},
		kubeVirt, reports(func(k *kubevirtv1.KubeVirt) { k.Status.ObservedGeneration = nil })),
	Entry("not deployed", checkKubeVirt, []string{"Block KubeVirt/kubevirt: is Deploying instead of Deployed: wait until it is, or see its conditions"},
		kubeVirt, reports(func(k *kubevirtv1.KubeVirt) { k.Status.Phase = kubevirtv1.KubeVirtPhaseDeploying })),
	Entry("never reported on", checkKubeVirt, []string{"Block KubeVirt/kubevirt: is being updated from nothing to nothing: wait until that is done"},
		kubeVirt, reports(func(k *kubevirtv1.KubeVirt) { k.Status = kubevirtv1.KubeVirtStatus{} })),
	Entry("changed", checkKubeVirt, []string{"Block KubeVirt/kubevirt: was changed and virt-operator has not acted on that yet: wait until it has"},
		kubeVirt, reports(func(k *kubevirtv1.KubeVirt) { k.Generation = 2 })),
	Entry("not available", checkKubeVirt, []string{"Block KubeVirt/kubevirt: has condition Available=False: repair it first"},
		kubeVirt, reports(reportsCondition(kubevirtv1.KubeVirtConditionAvailable, corev1.ConditionFalse))),
	Entry("degraded", checkKubeVirt, []string{"Block KubeVirt/kubevirt: has condition Degraded=True: repair it first"},
		kubeVirt, reports(reportsCondition(kubevirtv1.KubeVirtConditionDegraded, corev1.ConditionTrue))),
	Entry("progressing", checkKubeVirt, []string{"Block KubeVirt/kubevirt: has condition Progressing=True: repair it first"},
		kubeVirt, reports(reportsCondition(kubevirtv1.KubeVirtConditionProgressing, corev1.ConditionTrue))),
	Entry("not created", checkKubeVirt, []string{"Block KubeVirt/kubevirt: has condition Created=Unknown: repair it first"},
		kubeVirt, reports(func(k *kubevirtv1.KubeVirt) { k.Status.Conditions = k.Status.Conditions[:3] })),
	Entry("not synchronized", checkKubeVirt, []string{"Block KubeVirt/kubevirt: has condition Synchronized=False: repair it first"},
		kubeVirt, reports(reportsCondition(kubevirtv1.KubeVirtConditionSynchronized, corev1.ConditionFalse))),
	Entry("a node is down for its upgrade", checkKubeVirt, nil,
		kubeVirt, reports(deploying), downFor("rebooting"), handler("rebooting", false), handler("n", true)),
	Entry("a node is down for its upgrade, and another by itself", checkKubeVirt,
		[]string{"Block KubeVirt/kubevirt: is not Available, because virt-handler is not Ready on another, n: bring it back"},
		kubeVirt, reports(deploying), downFor("rebooting"), handler("rebooting", false), handler("n", false), handler("another", false)),
	Entry("a node is down for its upgrade, and virt-controller is not there", checkKubeVirt,
		[]string{"Block KubeVirt/kubevirt: is not Available, because none of the Pods of virt-controller is Ready: no virtual machine can be moved without it"},
		kubeVirt, reports(deploying), downFor("rebooting"), handler("rebooting", false), func(k *Installation, _ *workload.Question) { k.Controllers = 2 }),
	Entry("a node is down for its upgrade, and one virt-controller with it", checkKubeVirt, nil,
		kubeVirt, reports(deploying), downFor("rebooting"), handler("rebooting", false),
		func(k *Installation, _ *workload.Question) { k.Controllers, k.ControllersReady = 2, 1 }),
	Entry("a node is being upgraded whose virt-handler is Ready", checkKubeVirt,
		[]string{"Block KubeVirt/kubevirt: has condition Available=False (DeploymentInProgress): wait until its components are Ready"},
		kubeVirt, reports(deploying), downFor("rebooting"), handler("rebooting", true)),
	Entry("a node is down for its upgrade while KubeVirt is updated", checkKubeVirt,
		[]string{"Block KubeVirt/kubevirt: is being updated from v1.7.0 to v1.8.0: wait until that is done"},
		kubeVirt, reports(deploying), downFor("rebooting"), handler("rebooting", false),
		reports(func(k *kubevirtv1.KubeVirt) { k.Status.TargetKubeVirtVersion = "v1.8.0" })),
	Entry("a node is down for its upgrade, and the deployment has failed", checkKubeVirt,
		[]string{"Block KubeVirt/kubevirt: has condition Degraded=True: repair it first"},
		kubeVirt, reports(deploying), downFor("rebooting"), handler("rebooting", false),
		reports(reportsCondition(kubevirtv1.KubeVirtConditionDegraded, corev1.ConditionTrue))),
	Entry("a node is down for its upgrade, and KubeVirt is not available for another reason", checkKubeVirt,
		[]string{"Block KubeVirt/kubevirt: has condition Available=False: repair it first"},
		kubeVirt, reports(reportsCondition(kubevirtv1.KubeVirtConditionAvailable, corev1.ConditionFalse)), downFor("rebooting"), handler("rebooting", false)),
	Entry("launchers are being brought to the new version", checkKubeVirt,
		[]string{"Block KubeVirt/kubevirt: is moving 3 virtual machines to launchers of its new version: wait until that is done"},
		kubeVirt, outdated(kubevirtv1.WorkloadUpdateMethodLiveMigrate), updating(kubevirtv1.MigrationRunning)),
	Entry("launchers that cannot be brought to it", checkKubeVirt, []string{staysOutdated}, kubeVirt, outdated(kubevirtv1.WorkloadUpdateMethodLiveMigrate)),
	Entry("launchers for which no node is found", checkKubeVirt, []string{staysOutdated},
		kubeVirt, outdated(kubevirtv1.WorkloadUpdateMethodLiveMigrate), updating(kubevirtv1.MigrationScheduling)),
	Entry("launchers of which a person moves one", checkKubeVirt, []string{staysOutdated},
		kubeVirt, outdated(kubevirtv1.WorkloadUpdateMethodLiveMigrate),
		migrating(func(m *kubevirtv1.VirtualMachineInstanceMigration) { m.Status.Phase = kubevirtv1.MigrationRunning })),
	Entry("launchers stay as they are", checkKubeVirt, []string{staysOutdated}, kubeVirt, outdated()),
	Entry("a machine gets more memory by a migration to a launcher of the same version", checkKubeVirt, nil,
		kubeVirt, updating(kubevirtv1.MigrationRunning)),

	Entry("virt-api serves", checkVirtAPI, nil, kubeVirt),
	Entry("virt-api does not serve", checkVirtAPI,
		[]string{"Block APIService/v1.subresources.kubevirt.io: is not Available: bring virt-api back, no virtual machine can be moved without it"},
		kubeVirt, func(k *Installation, q *workload.Question) { k.API = "is not Available" }),
	Entry("virt-api is not asked", checkVirtAPI,
		[]string{"Block ValidatingWebhookConfiguration/virt-api-validator: does not have webhook virt-launcher-eviction-interceptor.kubevirt.io: " +
			"bring virt-operator back, an eviction would stop virtual machines instead of moving them"},
		kubeVirt, func(k *Installation, q *workload.Question) { k.Interceptor = false }),

	Entry("virt-handler on both ends", checkVirtHandler, nil, kubeVirt, withTarget, handled),
	Entry("no virtual machine to move", checkVirtHandler, nil, kubeVirt, func(k *Installation, q *workload.Question) { k.Places = nil }),
	Entry("nowhere to move to", checkVirtHandler, []string{"Warn Node/n: has virtual machines, and no other node can take any"}, kubeVirt, handled),
	Entry("the other node is cordoned", checkVirtHandler, []string{"Warn Node/n: has virtual machines, and no other node can take any"},
		kubeVirt, withTarget, handled, func(k *Installation, q *workload.Question) { q.Nodes[1].Spec.Unschedulable = true }),
	Entry("the other node is not Ready", checkVirtHandler, []string{"Warn Node/n: has virtual machines, and no other node can take any"},
		kubeVirt, withTarget, handled, func(k *Installation, q *workload.Question) { q.Nodes[1].Status.Conditions = nil }),
	Entry("the other node has no virt-handler", checkVirtHandler, []string{"Warn Node/n: has virtual machines, and no other node can take any"},
		kubeVirt, handled, withTarget),
	Entry("the Pods of virt-handler are Ready", checkVirtHandler, nil,
		kubeVirt, withTarget, handled, func(k *Installation, q *workload.Question) { k.Handlers = map[string]bool{"n": true, "other": true} }),
	Entry("virt-handler reports by a clock that is 8 h behind", checkVirtHandler, nil, kubeVirt, withTarget, handled, heartbeat(-8*time.Hour)),
	Entry("virt-handler reports by a clock that is 8 h ahead", checkVirtHandler, nil, kubeVirt, withTarget, handled, heartbeat(8*time.Hour)),
	Entry("the Pod of virt-handler is not Ready", checkVirtHandler,
		[]string{"Block Node/n: has a virt-handler that is not Ready: bring virt-handler back, it moves the virtual machines away"},
		kubeVirt, withTarget, handled, func(k *Installation, q *workload.Question) { k.Handlers = map[string]bool{"n": false} }),
	Entry("the node is not schedulable for virtual machines", checkVirtHandler,
		[]string{"Block Node/n: does not have label kubevirt.io/schedulable=true: bring virt-handler back, it moves the virtual machines away"},
		kubeVirt, withTarget, handled, func(k *Installation, q *workload.Question) { q.Nodes[0].Labels[kubevirtv1.NodeSchedulable] = "false" }),

	Entry("no migration", checkMigrations, nil, kubeVirt),
	Entry("a person moves a virtual machine away", checkMigrations,
		[]string{"Block VirtualMachineInstanceMigration/default/move: moves virtual machine vm from or to the node: wait until that is done, or delete it"},
		kubeVirt, withTarget, handled, migrating(func(*kubevirtv1.VirtualMachineInstanceMigration) {})),
	Entry("one that no node can take", checkMigrations,
		[]string{"Warn VirtualMachineInstanceMigration/default/move: is to move virtual machine vm, and no other node can take it"},
		kubeVirt, migrating(func(m *kubevirtv1.VirtualMachineInstanceMigration) { m.Status.Phase = kubevirtv1.MigrationPending })),
	Entry("one that is on its way, although no node could take another", checkMigrations,
		[]string{"Block VirtualMachineInstanceMigration/default/move: moves virtual machine vm from or to the node: wait until that is done, or delete it"},
		kubeVirt, migrating(func(m *kubevirtv1.VirtualMachineInstanceMigration) { m.Status.Phase = kubevirtv1.MigrationRunning })),
	Entry("one comes to the node", checkMigrations,
		[]string{"Block VirtualMachineInstanceMigration/default/move: moves virtual machine x from or to the node: wait until that is done, or delete it"},
		kubeVirt, migrating(func(m *kubevirtv1.VirtualMachineInstanceMigration) {
			m.Spec.VMIName = "x"
			m.Status.MigrationState = &kubevirtv1.VirtualMachineInstanceMigrationState{SourceNode: "a", TargetNode: "n"}
		})),
	Entry("one that has nothing to do with the node", checkMigrations, nil,
		kubeVirt, migrating(func(m *kubevirtv1.VirtualMachineInstanceMigration) { m.Spec.VMIName = "x" })),
	Entry("an evacuation", checkMigrations, nil,
		kubeVirt, migrating(func(m *kubevirtv1.VirtualMachineInstanceMigration) {
			m.Annotations = map[string]string{kubevirtv1.EvacuationMigrationAnnotation: "n"}
		})),
)

// kubeVirt is well, and has one virtual machine on the node.
func kubeVirt(k *Installation, q *workload.Question) {
	of := kubevirtv1.KubeVirt{ObjectMeta: metav1.ObjectMeta{Name: "kubevirt", Generation: 1}}
	of.Status = kubevirtv1.KubeVirtStatus{
		Phase:                   kubevirtv1.KubeVirtPhaseDeployed,
		ObservedKubeVirtVersion: "v1.7.0", TargetKubeVirtVersion: "v1.7.0", ObservedDeploymentID: "id", TargetDeploymentID: "id",
		ObservedGeneration: new(int64(1)),
	}
	of.Status.Conditions = []kubevirtv1.KubeVirtCondition{
		{Type: kubevirtv1.KubeVirtConditionAvailable, Status: corev1.ConditionTrue},
		{Type: kubevirtv1.KubeVirtConditionProgressing, Status: corev1.ConditionFalse},
		{Type: kubevirtv1.KubeVirtConditionDegraded, Status: corev1.ConditionFalse},
		{Type: kubevirtv1.KubeVirtConditionCreated, Status: corev1.ConditionTrue},
	}
	*k = Installation{
		Installations: []kubevirtv1.KubeVirt{of}, Interceptor: true,
		Places: map[types.NamespacedName]string{{Namespace: "default", Name: "vm"}: "n"},
	}
}

func reports(changed func(*kubevirtv1.KubeVirt)) change {
	return func(k *Installation, q *workload.Question) { changed(&k.Installations[0]) }
}

func reportsCondition(kind kubevirtv1.KubeVirtConditionType, status corev1.ConditionStatus) func(*kubevirtv1.KubeVirt) {
	return func(k *kubevirtv1.KubeVirt) {
		for i := range k.Status.Conditions {
			if k.Status.Conditions[i].Type == kind {
				k.Status.Conditions[i].Status = status
				return
			}
		}
		k.Status.Conditions = append(k.Status.Conditions, kubevirtv1.KubeVirtCondition{Type: kind, Status: status})
	}
}

// deploying is what virt-operator reports while a Pod of KubeVirt is not Ready.
func deploying(k *kubevirtv1.KubeVirt) {
	reportsCondition(kubevirtv1.KubeVirtConditionAvailable, corev1.ConditionFalse)(k)
	reportsCondition(kubevirtv1.KubeVirtConditionProgressing, corev1.ConditionTrue)(k)
	for i := range k.Status.Conditions[:3] {
		k.Status.Conditions[i].Reason = "DeploymentInProgress"
	}
}

// downFor says that a node is being upgraded.
func downFor(node string) change {
	return func(_ *Installation, q *workload.Question) { q.Upgrading = sets.New(node) }
}

func handler(node string, isReady bool) change {
	return func(k *Installation, _ *workload.Question) {
		if k.Handlers == nil {
			k.Handlers = map[string]bool{}
		}
		k.Handlers[node] = isReady
	}
}

func outdated(methods ...kubevirtv1.WorkloadUpdateMethod) change {
	return reports(func(k *kubevirtv1.KubeVirt) {
		k.Status.OutdatedVirtualMachineInstanceWorkloads = new(3)
		k.Spec.WorkloadUpdateStrategy.WorkloadUpdateMethods = methods
	})
}

// updating is a migration that KubeVirt makes to bring a machine to a new launcher, on another node.
func updating(phase kubevirtv1.VirtualMachineInstanceMigrationPhase) change {
	return migrating(func(m *kubevirtv1.VirtualMachineInstanceMigration) {
		m.Annotations = map[string]string{kubevirtv1.WorkloadUpdateMigrationAnnotation: ""}
		m.Spec.VMIName, m.Status.Phase = "x", phase
	})
}

// withTarget adds another node, which is Ready.
func withTarget(_ *Installation, q *workload.Question) {
	q.Nodes = append(q.Nodes, *readyNode("other"))
	q.Node = &q.Nodes[0]
}

func readyNode(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return node
}

// handled lets virt-handler be well on all nodes.
func handled(k *Installation, q *workload.Question) {
	for i := range q.Nodes {
		q.Nodes[i].Labels = map[string]string{kubevirtv1.NodeSchedulable: "true"}
	}
}

// heartbeat is that of virt-handler on all nodes, whose clocks are ahead of ours.
func heartbeat(ahead time.Duration) change {
	return func(_ *Installation, q *workload.Question) {
		for i := range q.Nodes {
			q.Nodes[i].Annotations = map[string]string{kubevirtv1.VirtHandlerHeartbeat: time.Now().Add(ahead).Format(time.RFC3339)}
		}
	}
}

func migrating(changed func(*kubevirtv1.VirtualMachineInstanceMigration)) change {
	return func(k *Installation, q *workload.Question) {
		migration := kubevirtv1.VirtualMachineInstanceMigration{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "move"}}
		migration.Spec.VMIName = "vm"
		changed(&migration)
		k.Migrations = append(k.Migrations, migration)
	}
}
