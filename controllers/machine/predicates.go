// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/capiworkaround"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/predicates"
)

// hostChanged passes what a machine reports or acts on, and what keeps a host from being claimed. Of an upgrade that is its success, a first OS that failed, and
// the end of the time in which the host must not be interrupted: a machine that is being deleted waits for that.
func hostChanged() predicate.Funcs {
	seen := predicates.Changed(func(host *infrav1.ElementalHost) any {
		return []any{
			predicates.Without(host.Labels, infrav1.InPlaceUpgradeLabel), host.Annotations[infrav1.ProposedLabelsAnnotation], annotations.HasPaused(host),
			seenSpec(host), seenStatus(host), hoststate.Succeeded(host), capiworkaround.FailedFirstOS(host), !host.DeletionTimestamp.IsZero(),
		}
	})
	update := seen.UpdateFunc
	seen.UpdateFunc = func(e event.UpdateEvent) bool {
		return update(e) || isInterruptible(e.ObjectNew) && !isInterruptible(e.ObjectOld)
	}
	return seen
}

func isInterruptible(object client.Object) bool {
	host, isHost := object.(*infrav1.ElementalHost)
	return isHost && hoststate.Interruptible(host)
}

// seenSpec is a host's spec without what others ask of the host.
func seenSpec(host *infrav1.ElementalHost) infrav1.ElementalHostSpec {
	spec := host.Spec
	spec.Upgrade = nil
	return spec
}

func seenStatus(host *infrav1.ElementalHost) infrav1.ElementalHostStatus {
	status := infrav1.ElementalHostStatus{
		Installed:    hoststate.Installed(host),
		Bootstrapped: hoststate.Bootstrapped(host),
		Addresses:    host.Status.Addresses,
		OS:           host.Status.OS,
	}
	status.OS.FreeBytes = 0
	if !status.Bootstrapped {
		status.Message = host.Status.Message
	}
	return status
}

func machineChanged() predicate.Funcs {
	return predicates.Changed(func(machine *clusterv1.Machine) any {
		return [...]string{
			ptr.Deref(machine.Spec.Bootstrap.DataSecretName, ""),
			machine.Spec.FailureDomain,
			machine.Status.NodeRef.Name,
			strconv.FormatBool(machine.DeletionTimestamp.IsZero()),
			strconv.FormatBool(owner.IsUpdating(machine)),
			strconv.FormatBool(metav1.HasAnnotation(machine.ObjectMeta, clusterv1.PendingAcknowledgeMoveAnnotation)),
			strconv.FormatBool(metav1.HasAnnotation(machine.ObjectMeta, runtimev1.PendingHooksAnnotation)),
			strconv.FormatBool(capiworkaround.HookFails(machine)),
			protector(machine),
			strconv.FormatBool(showsDisruption(machine)),
			strconv.FormatBool(protector(machine) != "" && owner.IsNodeNotReady(machine)),
		}
	})
}

// clusterChanged passes a Cluster that is paused or goes on, and what a machine waits for in it. One that comes is
// waited for, too.
func clusterChanged() predicate.Funcs {
	return predicates.Changed(func(cluster *clusterv1.Cluster) any {
		initialized := cluster.Status.Initialization
		return [...]bool{
			ptr.Deref(cluster.Spec.Paused, false),
			ptr.Deref(initialized.InfrastructureProvisioned, false),
			ptr.Deref(initialized.ControlPlaneInitialized, false),
		}
	})
}

// templateChanged passes another content, and the image that the template's ManagedOSVersion was looked up to.
func templateChanged() predicate.Funcs {
	return predicates.Changed(func(object client.Object) any {
		return []any{object.GetGeneration(), object.GetAnnotations()[infrav1.ResolvedOSVersionAnnotation]}
	})
}

func upgradeChanged() predicate.Funcs {
	return predicates.Changed(func(upgrade *infrav1.ElementalHostUpgrade) any {
		return []any{endOf(upgrade), disruptingOf(upgrade)}
	})
}

// pauseChanged passes what the machines that wait for a paused node depend on.
func pauseChanged() predicate.Funcs {
	return predicates.Changed(func(upgrade *infrav1.ElementalHostUpgrade) any {
		return []any{endOf(upgrade), attempts.WaitsForApproval(upgrade)}
	})
}

// endOf an attempt; empty while it is in progress.
func endOf(upgrade *infrav1.ElementalHostUpgrade) infrav1.UpgradePhase {
	if upgrade.PhaseNow().IsActive() {
		return ""
	}
	return upgrade.PhaseNow()
}

func nodeChanged() predicate.Funcs {
	return predicates.Changed(func(node *corev1.Node) any {
		if node.Spec.ProviderID == "" {
			return node.Status.NodeInfo.BootID // decides whether it gets one
		}
		return node.Spec.ProviderID
	})
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// rolloutChanged passes what stops a rollout, and no longer does.
func rolloutChanged() predicate.Funcs {
	return predicates.Changed(func(of *infrav1.ElementalRollout) any { return of.Spec.StoppedBy })
}
