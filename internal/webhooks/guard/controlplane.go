// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rke2"
)

// otherControlPlanes validates control planes of other kinds than KubeadmControlPlane and RKE2ControlPlane, by Cluster API's contract of control planes:
// where the template reference is depends on the version of the contract.
type otherControlPlanes struct {
	guard   *Guard
	decoder admission.Decoder
}

// Handle denies a change of the reference to or from an ElementalMachineTemplate, because the provider of the control plane
// replaces Machines for it.
func (v *otherControlPlanes) Handle(ctx context.Context, request admission.Request) admission.Response {
	before, after := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	if err := errors.Join(v.decoder.DecodeRaw(request.OldObject, before), v.decoder.DecodeRaw(request.Object, after)); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if v.guard.isJudgedByKind(after) {
		return admission.Allowed("")
	}
	was, is := infrastructureRefs(before), infrastructureRefs(after)
	if slices.Equal(was, is) || after.GetDeletionTimestamp() != nil || !slices.ContainsFunc(slices.Concat(was, is), reference.isOurs) {
		return admission.Allowed("")
	}
	why, err := v.guard.wouldReplace(ctx, after)
	switch {
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, err)
	case why != "":
		return admission.Denied(cannotPoint + why)
	}
	return admission.Allowed("")
}

// isJudgedByKind reports whether a control plane is of a kind that can update Machines in place, in a version that the API server converts
// for the webhook of that kind, which is called as well.
func (g *Guard) isJudgedByKind(controlPlane *unstructured.Unstructured) bool {
	if controlPlane.GetKind() != owner.RKE2ControlPlaneKind {
		return false
	}
	_, err := g.Owners.Client.RESTMapper().RESTMapping(controlPlane.GroupVersionKind().GroupKind(), rke2.GroupVersion.Version)
	return err == nil
}

// wouldReplace says why a change of the reference of a control plane of another kind is denied; empty if it is not.
func (g *Guard) wouldReplace(ctx context.Context, controlPlane *unstructured.Unstructured) (string, error) {
	doing := fmt.Sprintf("checking whether the Machines of %s %s would be replaced", controlPlane.GetKind(), controlPlane.GetName())
	cluster := clusterNameOf(controlPlane)
	if cluster == "" { // what belongs to no Cluster yet has no Machines
		return "", nil
	}
	machines, err := owner.ControlPlaneMachines(ctx, g.Owners.Live, controlPlane.GetNamespace(), cluster)
	if err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	if !slices.ContainsFunc(machines, func(machine clusterv1.Machine) bool { return metav1.IsControlledBy(&machine, controlPlane) }) {
		return "", nil
	}
	options, where, err := owner.ClusterOptions(ctx, g.Owners.Live, controlPlane.GetNamespace(), cluster)
	switch {
	case apierrors.IsNotFound(err): // a Cluster that does not exist yet has no Machines
		return "", nil
	case err != nil:
		return "", fmt.Errorf("%s: %w", doing, err)
	case options.WithDefaults().Replacement == infrav1.ReplacementAllow:
		return "", nil
	}
	return fmt.Sprintf("the Machines of %s %s would be replaced and their hosts reset, instead of updated in place%s. "+
		"Leave the reference as it is, or let Machines be replaced by replacement: Allow in %s",
		controlPlane.GetKind(), controlPlane.GetName(), howToKeep(controlPlane), where), nil
}

// howToKeep says how a topology keeps the reference of its control plane while it changes its workers.
func howToKeep(controlPlane metav1.Object) string {
	if _, isTopologyOwned := controlPlane.GetLabels()[clusterv1.ClusterTopologyOwnedLabel]; !isTopologyOwned {
		return ""
	}
	return ", and the Cluster's topology waits with its MachineDeployments. To go on with those, " +
		"set the former image in spec.topology.controlPlane.variables.overrides of the Cluster"
}

// clusterNameOf is the Cluster of a control plane, by its label or the owner that Cluster API sets.
func clusterNameOf(controlPlane metav1.Object) string {
	if name := controlPlane.GetLabels()[clusterv1.ClusterNameLabel]; name != "" {
		return name
	}
	for _, reference := range controlPlane.GetOwnerReferences() {
		if reference.Kind == "Cluster" {
			return reference.Name
		}
	}
	return ""
}

// reference to a template of infrastructure machines, as far as all versions of the contract have it.
type reference struct{ group, kind, name string }

func (r reference) isOurs() bool {
	return r.kind == "ElementalMachineTemplate" && r.group == infrav1.GroupVersion.Group
}

// referencePaths are where control planes have the reference: by contract v1beta2, by v1beta1, in former versions of K3s' and RKE2's
// kinds, and in MicroK8s'. config/webhook/guard.yaml has the same.
var referencePaths = [][]string{
	{"spec", "machineTemplate", "spec", "infrastructureRef"},
	{"spec", "machineTemplate", "infrastructureRef"},
	{"spec", "infrastructureTemplate"},
	{"spec", "infrastructureRef"},
	{"spec", "machineTemplate", "infrastructureTemplate"},
}

// infrastructureRefs are the references of a control plane, one for each of referencePaths; empty ones where it has none.
func infrastructureRefs(controlPlane *unstructured.Unstructured) []reference {
	found := make([]reference, 0, len(referencePaths))
	for _, path := range referencePaths {
		named, _, _ := unstructured.NestedStringMap(controlPlane.Object, path...)
		group := named["apiGroup"]
		if version := named["apiVersion"]; group == "" && version != "" {
			parsed, _ := schema.ParseGroupVersion(version) // what cannot be parsed has no group, and is not ours
			group = parsed.Group
		}
		found = append(found, reference{group: group, kind: named["kind"], name: named["name"]})
	}
	return found
}
