// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhostupgrades,verbs=get

// controlPlaneUnderWay keeps the spec of a control plane of any kind as it is while this provider upgrades the host of one of its Machines, of
// which its provider knows nothing: a rollout that started then would replace Machines while a node is down.
type controlPlaneUnderWay struct {
	guard   *Guard
	decoder admission.Decoder
}

// Handle denies a change of the spec where no Machine could take its OS, and from Admit, which precedes the cordon, until the attempt has ended. The API server does not ask about what starts no rollout
// (config/webhook/guard.yaml).
func (v *controlPlaneUnderWay) Handle(ctx context.Context, request admission.Request) admission.Response {
	before, after := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	if err := errors.Join(v.decoder.DecodeRaw(request.OldObject, before), v.decoder.DecodeRaw(request.Object, after)); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if after.GetDeletionTimestamp() != nil {
		return admission.Allowed("")
	}
	unreadable, err := v.guard.unreadableOS(ctx, after)
	switch {
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, err)
	case unreadable != "":
		return admission.Denied("the spec cannot be changed now: " + unreadable)
	}
	isSchedule, now := owner.ChangesOnlySchedule(before, after), v.guard.Owners.Clock.Now()
	attempt, err := v.guard.underWay(ctx, before.GetNamespace(), clusterNameOf(before), func(_ context.Context, machine *clusterv1.Machine, until time.Time) (bool, error) {
		isHarmless := isSchedule && owner.ControlPlaneRollsOut(after, machine, until) == ""
		return metav1.IsControlledBy(machine, before) && !isHarmless && owner.ControlPlaneRollsOut(before, machine, now) == "", nil
	})
	switch {
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("checking whether a host of %s %s is being upgraded: %w", before.GetKind(), before.GetName(), err))
	case attempt != nil:
		return admission.Denied("the spec cannot be changed now: " + replacesMeanwhile(attempt))
	}
	return admission.Allowed("")
}

// unreadableOS says that no ElementalMachine could take the OS of the template that a control plane refers to, as version 0.7 has stored it; empty
// if one could. KubeadmControlPlane tries that in a dry run before it asks the runtime extension, and replaces the Machine where it is refused.
func (g *Guard) unreadableOS(ctx context.Context, controlPlane *unstructured.Unstructured) (string, error) {
	for _, ref := range infrastructureRefs(controlPlane) {
		if !ref.isOurs() {
			continue
		}
		template, err := existing.Get(ctx, g.Owners.Live, &infrav1.ElementalMachineTemplate{}, controlPlane.GetNamespace(), ref.name)
		if err != nil || template == nil {
			return "", err
		}
		if _, err := osversion.Decode(template.Spec.Template.Spec.OSVersionManagement); err != nil {
			return fmt.Sprintf("Machines would be replaced. ElementalMachineTemplate %s: spec.template.spec.%s: correct it first", ref.name, err), nil
		}
	}
	return "", nil
}

// checkMachineDeploymentUnderWay does the same for a MachineDeployment, of which it is known what Cluster API rolls out.
func (g *Guard) checkMachineDeploymentUnderWay(ctx context.Context, before, after *clusterv1.MachineDeployment) error {
	if !after.DeletionTimestamp.IsZero() {
		return nil
	}
	of, now := owner.ForMachineDeployment(after), g.Owners.Clock.Now()
	attempt, err := g.underWay(ctx, before.Namespace, before.Spec.ClusterName, func(ctx context.Context, machine *clusterv1.Machine, until time.Time) (bool, error) {
		if machine.Labels[clusterv1.MachineDeploymentNameLabel] != before.Name || !owner.StartsRollout(before, after, until) {
			return false, nil
		}
		why, err := owner.RollsOut(ctx, g.Owners.Live, machine, now)
		return why == "", err
	})
	switch {
	case err != nil:
		return fmt.Errorf("checking whether a host of %s is being upgraded: %w", owner.Describe(of), err)
	case attempt != nil:
		return deniedBecause(of, "spec.rollout.after, the end of strategy OnDelete and, of spec.template.spec, version, bootstrap, infrastructureRef and failureDomain cannot be changed now: "+
			replacesMeanwhile(attempt))
	}
	return nil
}

func replacesMeanwhile(attempt *infrav1.ElementalHostUpgrade) string {
	return fmt.Sprintf("ElementalHostUpgrade %s upgrades the host of Machine %s, and a rollout would replace Machines meanwhile. "+
		"Retry when it has ended; before its host is triggered its spec.cancel ends it", attempt.Name, attempt.Spec.MachineName)
}

// concerned reports whether a Machine is of an owner that is changed, which may replace it for the change until a moment, and does not roll out another change
// already: to revert that is a way out.
type concerned func(ctx context.Context, machine *clusterv1.Machine, until time.Time) (bool, error)

// underWay is the attempt for a patched template that has a slot of a Cluster for a Machine that is concerned; nil if there is none.
func (g *Guard) underWay(ctx context.Context, namespace, cluster string, isConcerned concerned) (*infrav1.ElementalHostUpgrade, error) {
	slots, err := g.slots(ctx, namespace, cluster)
	if err != nil {
		return nil, err
	}
	for _, slot := range slots {
		attempt, err := g.directHolder(ctx, namespace, slot)
		if err != nil {
			return nil, err
		}
		if attempt == nil {
			continue
		}
		machine, err := existing.Get(ctx, g.Owners.Live, &clusterv1.Machine{}, namespace, attempt.Spec.MachineName)
		if err != nil {
			return nil, err
		}
		if machine == nil {
			continue
		}
		until := g.Owners.Clock.Now().Add(attempt.Spec.Options.WithDefaults().Timeouts.Disruption())
		if is, err := isConcerned(ctx, machine, until); err != nil || is {
			return attempt, err
		}
	}
	return nil, nil
}

// directHolder is the attempt that has a slot, if it is one for a patched template that has not ended.
func (g *Guard) directHolder(ctx context.Context, namespace string, slot infrav1.UpgradeSlot) (*infrav1.ElementalHostUpgrade, error) {
	attempt, err := existing.Get(ctx, g.Owners.Live, &infrav1.ElementalHostUpgrade{}, namespace, slot.Upgrade)
	if err != nil || attempt == nil || attempts.ID(attempt) != slot.Attempt || attempt.Spec.Driver != infrav1.DriverDirect || !attempt.PhaseNow().IsActive() {
		return nil, err
	}
	return attempt, nil
}

// slots of a Cluster that are taken; none of one with another infrastructure provider, or that does not exist.
func (g *Guard) slots(ctx context.Context, namespace, name string) ([]infrav1.UpgradeSlot, error) {
	cluster, err := existing.Get(ctx, g.Owners.Live, &clusterv1.Cluster{}, namespace, name)
	if err != nil || cluster == nil || !association.NamesElementalCluster(cluster.Spec.InfrastructureRef) {
		return nil, err
	}
	elemental, err := existing.Get(ctx, g.Owners.Live, &infrav1.ElementalCluster{}, namespace, cluster.Spec.InfrastructureRef.Name)
	if err != nil || elemental == nil {
		return nil, err
	}
	return elemental.Status.UpgradeSlots, nil
}
