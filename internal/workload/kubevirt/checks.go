// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Checks of KubeVirt.
func (Resident) Checks() []workload.Check {
	return []workload.Check{
		workload.CheckOf("KubeVirt", false, checkKubeVirt),
		workload.CheckOf("VirtAPI", true, checkVirtAPI),
		workload.CheckOf("VirtHandler", false, checkVirtHandler),
		workload.CheckOf("Migrations", true, checkMigrations),
	}
}

// checkKubeVirt holds while KubeVirt is being updated, which moves virtual machines itself, or is not well.
// Source of the fields: KubeVirt 1.7, virt-operator.
func checkKubeVirt(k *Installation, q workload.Question) []infrav1.PreflightResult {
	found := []infrav1.PreflightResult{}
	for i := range k.Installations {
		kubeVirt := &k.Installations[i]
		object := "KubeVirt/" + kubeVirt.Name
		if why := k.ailing(kubeVirt, q.Upgrading); why != "" {
			found = append(found, workload.Blocks(object, why)...)
			continue
		}
		found = append(found, judgeOutdated(kubeVirt, k.Migrations, object)...)
	}
	return found
}

// ailing says what is amiss with KubeVirt, the most telling first; empty if nothing is, or no more than comes of the nodes that are being upgraded.
func (k *Installation) ailing(of *kubevirtv1.KubeVirt, upgrading sets.Set[string]) string {
	status := &of.Status
	switch {
	case isUpdating(status):
		return fmt.Sprintf("is being updated from %s to %s: wait until that is done",
			cmp.Or(status.ObservedKubeVirtVersion, "nothing"), cmp.Or(status.TargetKubeVirtVersion, "nothing"))
	case status.Phase != kubevirtv1.KubeVirtPhaseDeployed:
		return fmt.Sprintf("is %s instead of Deployed: wait until it is, or see its conditions", cmp.Or(string(status.Phase), "not reported on"))
	case status.ObservedGeneration == nil || *status.ObservedGeneration != of.Generation:
		return "was changed and virt-operator has not acted on that yet: wait until it has"
	}
	deploying := isDeploying(of)
	if deploying {
		if why := k.unready(upgrading); why != "" {
			return why
		}
	}
	return badCondition(of, deploying)
}

// badCondition names a condition of KubeVirt that is not as it should be. Those that say no more than that components are awaited are left out
// where that is known.
func badCondition(k *kubevirtv1.KubeVirt, deploying bool) string {
	for _, wanted := range []struct {
		condition kubevirtv1.KubeVirtConditionType
		status    corev1.ConditionStatus
		deploying corev1.ConditionStatus
	}{
		{kubevirtv1.KubeVirtConditionAvailable, corev1.ConditionTrue, corev1.ConditionFalse},
		{kubevirtv1.KubeVirtConditionProgressing, corev1.ConditionFalse, corev1.ConditionTrue},
		{kubevirtv1.KubeVirtConditionDegraded, corev1.ConditionFalse, corev1.ConditionFalse},
		{kubevirtv1.KubeVirtConditionCreated, corev1.ConditionTrue, corev1.ConditionTrue},
	} {
		is := conditionOf(k, wanted.condition)
		if is != wanted.status && (!deploying || is != wanted.deploying) {
			return fmt.Sprintf("has condition %s=%s: repair it first", wanted.condition, cmp.Or(string(is), "Unknown"))
		}
	}
	if conditionOf(k, kubevirtv1.KubeVirtConditionSynchronized) == corev1.ConditionFalse {
		return "has condition Synchronized=False: repair it first"
	}
	return ""
}

func isUpdating(status *kubevirtv1.KubeVirtStatus) bool {
	return status.ObservedDeploymentID == "" || status.ObservedDeploymentID != status.TargetDeploymentID ||
		status.ObservedKubeVirtVersion == "" || status.ObservedKubeVirtVersion != status.TargetKubeVirtVersion
}

func conditionOf(k *kubevirtv1.KubeVirt, kind kubevirtv1.KubeVirtConditionType) corev1.ConditionStatus {
	if found := findCondition(k, kind); found != nil {
		return found.Status
	}
	return ""
}

// judgeOutdated: launchers follow an update of KubeVirt by migrations of its own, which are waited for while they move
// something. What they cannot move, or are not told to, stays outdated for as long as it runs, and holds nothing.
func judgeOutdated(k *kubevirtv1.KubeVirt, migrations []kubevirtv1.VirtualMachineInstanceMigration, object string) []infrav1.PreflightResult {
	count := ptr.Deref(k.Status.OutdatedVirtualMachineInstanceWorkloads, 0)
	switch {
	case count == 0:
		return nil
	case slices.ContainsFunc(migrations, updatesLauncher):
		return workload.Blocks(object, fmt.Sprintf("is moving %d virtual machines to launchers of its new version: wait until that is done", count))
	}
	return workload.Warns(object, fmt.Sprintf("has %d virtual machines that still run in launchers of a former version: "+
		"those that can be migrated get a new one when their node is evacuated, restart the others when it suits", count))
}

// updatesLauncher reports whether a migration is KubeVirt's own, to a new launcher, and has a node to go to: without one it
// fails after a while and is recreated, for as long as there is no node.
func updatesLauncher(migration kubevirtv1.VirtualMachineInstanceMigration) bool {
	_, updates := migration.Annotations[kubevirtv1.WorkloadUpdateMigrationAnnotation]
	return updates && isPlaced(&migration)
}

// isPlaced reports whether a migration has a node to go to.
func isPlaced(migration *kubevirtv1.VirtualMachineInstanceMigration) bool {
	if state := migration.Status.MigrationState; state != nil && state.TargetNode != "" {
		return true
	}
	return slices.Contains([]kubevirtv1.VirtualMachineInstanceMigrationPhase{
		kubevirtv1.MigrationScheduled, kubevirtv1.MigrationPreparingTarget, kubevirtv1.MigrationTargetReady, kubevirtv1.MigrationRunning,
	}, migration.Status.Phase)
}

// checkVirtAPI: evictions of virtual machines fail without virt-api, and without its webhook they stop the guests.
func checkVirtAPI(k *Installation, q workload.Question) []infrav1.PreflightResult {
	switch {
	case q.Admitted && k.On(q.Node.Name) == 0:
		return nil // they have left
	case k.API != "":
		return workload.Blocks("APIService/"+subresourceAPI, k.API+": bring virt-api back, no virtual machine can be moved without it")
	case !k.Interceptor:
		return workload.Blocks("ValidatingWebhookConfiguration/virt-api-validator",
			"does not have webhook "+evictionWebhook+": bring virt-operator back, an eviction would stop virtual machines instead of moving them")
	}
	return nil
}

// checkVirtHandler looks at both ends of the migrations to come.
func checkVirtHandler(k *Installation, q workload.Question) []infrav1.PreflightResult {
	if k.On(q.Node.Name) == 0 {
		return nil
	}
	if why := k.handlerMissing(q.Node); why != "" {
		return workload.Blocks("Node/"+q.Node.Name, why+": bring virt-handler back, it moves the virtual machines away")
	}
	if k.hasTarget(q) {
		return nil
	}
	return workload.Warns("Node/"+q.Node.Name, "has virtual machines, and no other node can take any")
}

// hasTarget reports whether another node can take virtual machines.
func (k *Installation) hasTarget(q workload.Question) bool {
	return slices.ContainsFunc(q.Nodes, func(node corev1.Node) bool {
		return node.Name != q.Node.Name && !node.Spec.Unschedulable && workload.IsReady(&node) && k.handlerMissing(&node) == ""
	})
}

// handlerMissing says why the virt-handler of a node cannot be counted on. Its heartbeat is by the clock of the node: virt-controller judges it,
// and takes the label off after five minutes without one.
// Source: pkg/virt-controller/watch/node, KubeVirt 1.7.
func (k *Installation) handlerMissing(node *corev1.Node) string {
	isReady, isKnown := k.Handlers[node.Name]
	switch {
	case isKnown && !isReady:
		return "has a virt-handler that is not Ready"
	case node.Labels[kubevirtv1.NodeSchedulable] != "true":
		return "does not have label " + kubevirtv1.NodeSchedulable + "=true"
	}
	return ""
}

// checkMigrations waits for those that somebody else has begun from or to the node. Evacuations are the upgrade's own. One that no node can take
// moves nothing, and is not waited for.
func checkMigrations(k *Installation, q workload.Question) []infrav1.PreflightResult {
	found := []infrav1.PreflightResult{}
	for i := range k.Migrations {
		migration := &k.Migrations[i]
		if _, ours := migration.Annotations[kubevirtv1.EvacuationMigrationAnnotation]; ours || !k.touches(migration, q.Node.Name) {
			continue
		}
		object := "VirtualMachineInstanceMigration/" + migration.Namespace + "/" + migration.Name
		if !isPlaced(migration) && !k.hasTarget(q) {
			found = append(found, workload.Warns(object, "is to move virtual machine "+migration.Spec.VMIName+", and no other node can take it")...)
			continue
		}
		found = append(found, workload.Blocks(object,
			"moves virtual machine "+migration.Spec.VMIName+" from or to the node: wait until that is done, or delete it")...)
	}
	return found
}

func (k *Installation) touches(migration *kubevirtv1.VirtualMachineInstanceMigration, node string) bool {
	ends := []string{k.Places[types.NamespacedName{Namespace: migration.Namespace, Name: migration.Spec.VMIName}]}
	if state := migration.Status.MigrationState; state != nil {
		ends = append(ends, state.SourceNode, state.TargetNode)
	}
	return slices.Contains(ends, node)
}
