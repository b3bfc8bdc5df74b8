// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// otherOwners are owners of Machines of the template that are of a kind which is not rolled out: control planes of other
// providers, MachineSets and Machines of their own.
type otherOwners struct {
	// names with kinds, sorted, of those with a Machine that specifies another OS than the template.
	behind []string
	// all Machines, and those that run the OS of the template.
	all, upToDate int32
}

// otherOwners of the Machines that were made from the template itself: its clones are for owners that are rolled out.
func (r *Reconciler) otherOwners(ctx context.Context, template *infrav1.ElementalMachineTemplate) (otherOwners, error) {
	found, wanted := otherOwners{}, osversion.OfTemplate(template)
	machines, err := r.madeFrom(ctx, template)
	if err != nil {
		return found, err
	}
	for i := range machines {
		machine := &machines[i]
		of, err := r.otherOwner(ctx, machine)
		if err != nil {
			return found, err
		}
		if of == "" {
			continue
		}
		found.all++
		switch {
		case !osversion.Same(machine.Spec.OSVersionManagement, wanted):
			found.behind = append(found.behind, of)
		case clusterview.RunsItsOS(machine):
			found.upToDate++
		}
	}
	slices.Sort(found.behind)
	found.behind = slices.Compact(found.behind)
	return found, nil
}

// otherOwner describes the owner of a machine; empty if the machine is made by a MachineDeployment or a KubeadmControlPlane, is being
// deleted, or its Machine is not known yet.
func (r *Reconciler) otherOwner(ctx context.Context, machine *infrav1.ElementalMachine) (string, error) {
	if machine.Labels[clusterv1.MachineDeploymentNameLabel] != "" || !machine.DeletionTimestamp.IsZero() {
		return "", nil
	}
	of, err := clusterview.New(r.Client, clusterview.ClusterOf(machine)).MachineOf(ctx, machine)
	if err != nil || of == nil {
		return "", err
	}
	controller := metav1.GetControllerOf(of)
	switch {
	case controller == nil:
		return "Machine " + of.Name, nil
	case controller.Kind == owner.KubeadmControlPlaneKind:
		return "", nil
	}
	return controller.Kind + " " + controller.Name, nil
}

// problems says which owners are not rolled out; nil if there are none.
func (o otherOwners) problems() []inplace.Problem {
	if len(o.behind) == 0 {
		return nil
	}
	return []inplace.Problem{{
		Reason: infrav1.UnsupportedOwnerReason,
		Message: strings.Join(o.behind, ", ") + " cannot be updated in place by a change of this template: the Machines keep their OS. " +
			"Only MachineDeployments and KubeadmControlPlanes are rolled out",
	}}
}
