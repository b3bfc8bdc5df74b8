// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rke2"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalmachines,verbs=get;patch

const (
	elementalMachineKind = "ElementalMachine"
)

// applier is who the provider of a control plane applies as, and what it does when the API server refuses.
type applier struct {
	// fieldManager: what it has applied before and leaves out is removed.
	fieldManager string
	// then is what becomes of the Machine.
	then string
}

var appliers = map[string]applier{
	owner.KubeadmControlPlaneKind: {"capi-kubeadmcontrolplane", "would delete Machine %s instead of updating it"},
	// It tries again for ever. Source: canUpdateMachine of CAPRKE2 v0.25.
	owner.RKE2ControlPlaneKind: {rke2.FieldManager, "could not update Machine %s"},
}

// RefusedUpdate says which ElementalMachine of a control plane the API server would not take as it is, or with the content
// of a template; it is empty where it takes all, and for other owners. KubeadmControlPlane tries the same before it updates
// a Machine in place: a webhook or a policy that refuses it has the Machine deleted, and no hook is asked.
func RefusedUpdate(ctx context.Context, owners *owner.Owners, of owner.Owner, template *infrav1.ElementalMachineTemplate) (string, error) {
	if !owner.IsControlPlane(of) {
		return "", nil
	}
	applier, known := appliers[of.Kind()]
	if !known {
		return "", fmt.Errorf("trying to update the Machines of %s: it is not known who applies", owner.Describe(of))
	}
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&template.Spec.Template.Spec)
	if err != nil {
		return "", fmt.Errorf("reading the content of ElementalMachineTemplate %s: %w", template.Name, err)
	}
	machines, err := owners.Machines(ctx, of)
	if err != nil {
		return "", err
	}
	for i := range machines {
		refusal, err := refusedUpdate(ctx, owners, applier, &machines[i], template.Name, spec)
		if err != nil {
			return "", fmt.Errorf("trying to update Machine %s: %w", machines[i].Name, err)
		}
		if refusal != "" {
			return fmt.Sprintf("%s "+applier.then+", because the API server refuses its ElementalMachine with "+
				"the content of ElementalMachineTemplate %s: %s. Change the template, or what refuses it", owner.Describe(of), machines[i].Name, template.Name, refusal), nil
		}
	}
	return "", nil
}

func refusedUpdate(ctx context.Context, owners *owner.Owners, by applier, machine *clusterv1.Machine, template string, spec map[string]any) (string, error) {
	reference := machine.Spec.InfrastructureRef
	if !machine.DeletionTimestamp.IsZero() || !association.NamesElementalMachine(reference) {
		return "", nil
	}
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(infrav1.GroupVersion.WithKind(elementalMachineKind))
	err := owners.Live.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: reference.Name}, current)
	if err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if refusal, err := dryRun(ctx, owners.Client, by, current, current.GetAnnotations(), current.Object["spec"]); err != nil || refusal != "" {
		return refusal, err
	}
	annotations := current.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[clusterv1.TemplateClonedFromNameAnnotation] = template
	return dryRun(ctx, owners.Client, by, current, annotations, spec)
}

// dryRun applies a spec to an ElementalMachine and stores nothing. The UID keeps it from making one that has just gone.
func dryRun(ctx context.Context, writer client.Client, by applier, of *unstructured.Unstructured, annotations map[string]string, spec any) (string, error) {
	applied := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	applied.SetGroupVersionKind(of.GroupVersionKind())
	applied.SetNamespace(of.GetNamespace())
	applied.SetName(of.GetName())
	applied.SetUID(of.GetUID())
	applied.SetLabels(of.GetLabels())
	applied.SetAnnotations(annotations)
	err := writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied.DeepCopy()),
		client.DryRunAll, client.ForceOwnership, client.FieldOwner(by.fieldManager))
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		return "", err
	}
	status := apierrors.APIStatus(nil)
	errors.As(err, &status)
	return status.Status().Message, nil
}
