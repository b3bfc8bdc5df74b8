// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhostupgrades,verbs=get

// directUnderWay keeps the spec of a MachineDeployment, or of a control plane of any kind, as it is while driver Direct upgrades the host of one of its
// Machines, of which its provider knows nothing: a rollout that began then would replace Machines while a node is down.
type directUnderWay struct {
	guard   *Guard
	decoder admission.Decoder
}

// Handle denies a change of what the owner rolls out, from Admit, which precedes the cordon, until the attempt has ended.
func (v *directUnderWay) Handle(ctx context.Context, request admission.Request) admission.Response {
	before, after := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	if err := errors.Join(v.decoder.DecodeRaw(request.OldObject, before), v.decoder.DecodeRaw(request.Object, after)); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if after.GetDeletionTimestamp() != nil || equality.Semantic.DeepEqual(rolledOutBy(before), rolledOutBy(after)) {
		return admission.Allowed("")
	}
	attempt, err := v.guard.underWay(ctx, before)
	switch {
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, err)
	case attempt != nil:
		return admission.Denied(fmt.Sprintf("the spec cannot be changed now: ElementalHostUpgrade %s upgrades the host of Machine %s, "+
			"and a rollout would replace Machines meanwhile. Retry when it has ended; before its host is triggered its spec.cancel ends it", attempt.Name, attempt.Spec.MachineName))
	}
	return admission.Allowed("")
}

// rolledOutFields are those of a MachineDeployment whose change has Machines replaced, or updated in place. Cluster API propagates the others.
// Source: internal/controllers/machinedeployment/mdutil (MachineTemplateUpToDate), Cluster API 1.14.
var rolledOutFields = [][]string{
	{"template", "spec", "version"}, {"template", "spec", "bootstrap"}, {"template", "spec", "infrastructureRef"}, {"template", "spec", "failureDomain"},
	{"rollout", "after"},
}

// rolledOutBy is the part of an owner's spec whose change may begin a rollout. Of a control plane only its provider knows, so that it is all but the
// replicas.
func rolledOutBy(of *unstructured.Unstructured) any {
	spec, _, _ := unstructured.NestedMap(of.Object, "spec")
	if of.GetKind() != owner.MachineDeploymentKind {
		delete(spec, "replicas")
		return spec
	}
	found := []any{}
	for _, path := range rolledOutFields {
		value, _, _ := unstructured.NestedFieldNoCopy(spec, path...)
		found = append(found, value)
	}
	return found
}

// underWay is the attempt of driver Direct that holds a slot for a Machine of an owner; nil if there is none, or the owner rolls out a change already:
// its host is not triggered then, and to revert the change is a way out.
func (g *Guard) underWay(ctx context.Context, of *unstructured.Unstructured) (*infrav1.ElementalHostUpgrade, error) {
	doing := fmt.Sprintf("checking whether a host of %s %s is being upgraded", of.GetKind(), of.GetName())
	cluster := clusterNameOf(of)
	if of.GetKind() == owner.MachineDeploymentKind {
		cluster, _, _ = unstructured.NestedString(of.Object, "spec", "clusterName")
	}
	slots, err := g.slots(ctx, of.GetNamespace(), cluster)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	for _, slot := range slots {
		attempt, err := g.holder(ctx, of, slot)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		if attempt != nil {
			return attempt, nil
		}
	}
	return nil, nil
}

// holder of a slot, if it is such an attempt.
func (g *Guard) holder(ctx context.Context, of *unstructured.Unstructured, slot infrav1.UpgradeSlot) (*infrav1.ElementalHostUpgrade, error) {
	if slot.ControlPlane == (of.GetKind() == owner.MachineDeploymentKind) {
		return nil, nil
	}
	attempt, err := existing.Get(ctx, g.Owners.Live, &infrav1.ElementalHostUpgrade{}, of.GetNamespace(), slot.Upgrade)
	if err != nil || attempt == nil || attempts.ID(attempt) != slot.Attempt || attempt.Spec.Driver != infrav1.DriverDirect || !attempt.PhaseNow().IsActive() {
		return nil, err
	}
	machine, err := existing.Get(ctx, g.Owners.Live, &clusterv1.Machine{}, of.GetNamespace(), attempt.Spec.MachineName)
	if err != nil || machine == nil {
		return nil, err
	}
	if rollsOut, err := g.rollsOut(ctx, of, machine); err != nil || rollsOut {
		return nil, err
	}
	return attempt, nil
}

// rollsOut reports whether a Machine is not of an owner, or that rolls out a change already.
func (g *Guard) rollsOut(ctx context.Context, of *unstructured.Unstructured, machine *clusterv1.Machine) (bool, error) {
	now := g.Owners.Clock.Now()
	if of.GetKind() != owner.MachineDeploymentKind {
		return !metav1.IsControlledBy(machine, of) || owner.ControlPlaneRollsOut(of, machine, now) != "", nil
	}
	if machine.Labels[clusterv1.MachineDeploymentNameLabel] != of.GetName() {
		return true, nil
	}
	why, err := owner.RollsOut(ctx, g.Owners.Live, machine, now)
	return why != "", err
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
