// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// topologyPool is the pool of a template of a topology.
func topologyPool(template *infrav1.ElementalMachineTemplate) string {
	return cmp.Or(template.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel], clusterupgrade.ControlPlanePool)
}

// formerKey is what the former OS of a template is recorded by. The templates of a topology are replaced, and their pools stay.
func formerKey(template *infrav1.ElementalMachineTemplate) string {
	if clusterupgrade.IsOfTopology(template) {
		return poolKey(topologyPool(template))
	}
	return template.Name
}

// poolKey cannot be the name of a template.
func poolKey(pool string) string { return "pool/" + pool }

// changeVariable gives a pool of a topology the OS by its variable, and says why it does not, or what it waits for. What somebody has
// changed back is reported, and not changed again.
func (r *Reconciler) changeVariable(
	ctx context.Context, o *observation, template *infrav1.ElementalMachineTemplate, known map[string]former,
) (string, error) {
	pool, image := topologyPool(template), clusterupgrade.Image(o.upgrade)
	if o.upgrade.Spec.OSVersion.UpgradeRecovery != nil {
		return fmt.Sprintf("spec.osVersion.upgradeRecovery cannot be set in the topology of Cluster %s: create an ElementalClusterUpgrade without it, and "+
			"set it in the ElementalMachineTemplate of the ClusterClass", o.cluster.Name), nil
	}
	cluster, err := r.topologyOf(ctx, o)
	if err != nil {
		return "", err
	}
	value, isSet := overrideOf(cluster, pool)
	recorded, isRecorded := known[poolKey(pool)]
	switch {
	case isSet && value == image: // in these very words: templates with others are not the same to Cluster API
		return o.comes(pool), noteChanged(o.upgrade, known, poolKey(pool))
	case !isRecorded:
		known[poolKey(pool)] = former{Variable: value}
		return recording, recordFormer(o.upgrade, known)
	case recorded.IsChanged:
		return fmt.Sprintf("another party has changed variable %s of pool %s in the topology of Cluster %s, and it is not changed again: set it to %s, "+
			"or set spec.cancel of the ElementalClusterUpgrade", inplace.OSImageVariable, pool, o.cluster.Name, image), nil
	}
	if why, err := r.patchVariable(ctx, cluster, pool, image); err != nil || why != "" {
		return why, err
	}
	r.Recorder.Eventf(o.upgrade, template, corev1.EventTypeNormal, infrav1.EventTemplateChanged, "ChangeTemplate",
		"Variable %s of pool %s in the topology of Cluster %s was set to %s", inplace.OSImageVariable, pool, o.cluster.Name, image)
	return o.comes(pool), noteChanged(o.upgrade, known, poolKey(pool))
}

// topologyOf the Cluster as it is now, with fields that this version of Cluster API's types does not have.
func (r *Reconciler) topologyOf(ctx context.Context, o *observation) (*unstructured.Unstructured, error) {
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(clusterv1.GroupVersion.WithKind("Cluster"))
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(o.cluster), cluster); err != nil {
		return nil, fmt.Errorf("reading the topology of Cluster %s: %w", o.cluster.Name, err)
	}
	return cluster, nil
}

// patchVariable sets the variable of a pool, or removes it where the value is empty, and says what Cluster API refuses.
func (r *Reconciler) patchVariable(ctx context.Context, cluster *unstructured.Unstructured, pool, value string) (refused string, err error) {
	changed := cluster.DeepCopy()
	if !setOverride(changed, pool, value) {
		return fmt.Sprintf("the topology of Cluster %s has no pool %s", cluster.GetName(), pool), nil
	}
	err = r.Client.Patch(ctx, changed, client.MergeFromWithOptions(cluster, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		return fmt.Sprintf("set the image by the variables that ClusterClass of Cluster %s has, or in its template; the nodes of pool %s are upgraded in the "+
			"order of this upgrade then. Variable %s cannot be set: %v", cluster.GetName(), pool, inplace.OSImageVariable, err), nil
	case apierrors.IsConflict(err):
		return "Cluster " + cluster.GetName() + " is being changed by others", nil
	case err != nil:
		return "", fmt.Errorf("setting variable %s of pool %s in the topology of Cluster %s: %w", inplace.OSImageVariable, pool, cluster.GetName(), err)
	}
	return "", nil
}

// revertVariable puts the variable of a pool back. One that somebody has changed since stays as it is.
func (r *Reconciler) revertVariable(ctx context.Context, o *observation, pool string, recorded former) (string, error) {
	cluster, err := r.topologyOf(ctx, o)
	if err != nil {
		return "", err
	}
	if value, isSet := overrideOf(cluster, pool); !isSet || !osversion.SameImage(value, clusterupgrade.Image(o.upgrade)) {
		return "", nil
	}
	return r.patchVariable(ctx, cluster, pool, recorded.Variable)
}

// awaitTopology says that a topology is yet to give a template the image which the variable of its pool has: its nodes would go on unless they are
// held. Empty if it is not, or if the variable is put back.
func (r *Reconciler) awaitTopology(ctx context.Context, o *observation, template *infrav1.ElementalMachineTemplate) (string, error) {
	if !clusterupgrade.IsOfTopology(template) {
		return "", nil
	}
	cluster, err := r.topologyOf(ctx, o)
	if err != nil {
		return "", err
	}
	value, isSet := overrideOf(cluster, topologyPool(template))
	if !isSet || value != clusterupgrade.Image(o.upgrade) || o.isRevert() {
		return "", nil
	}
	return fmt.Sprintf("%s, or put variable %s of the pool back", o.comes(topologyPool(template)), inplace.OSImageVariable), nil
}

// comes says that the topology is yet to give a pool its image.
func (o *observation) comes(pool string) string {
	return fmt.Sprintf("waiting until the topology of Cluster %s gives pool %s image %s: see its condition %s",
		o.cluster.Name, pool, clusterupgrade.Image(o.upgrade), clusterv1.ClusterTopologyReconciledCondition)
}

// poolIn is the part of a topology that is for a pool; nil if there is none, or it says nothing of its control plane. It is not a copy.
func poolIn(cluster *unstructured.Unstructured, pool string) map[string]any {
	topology := fieldOf(fieldOf(cluster.Object, "spec"), "topology")
	if topology == nil {
		return nil
	}
	if pool == clusterupgrade.ControlPlanePool {
		return fieldOf(topology, "controlPlane")
	}
	deployments, _ := fieldOf(topology, "workers")["machineDeployments"].([]any)
	for i := range deployments {
		if deployment, is := deployments[i].(map[string]any); is && deployment["name"] == pool {
			return deployment
		}
	}
	return nil
}

// overrideOf the variable for a pool.
func overrideOf(cluster *unstructured.Unstructured, pool string) (value string, isSet bool) {
	overrides, _ := fieldOf(poolIn(cluster, pool), "variables")["overrides"].([]any)
	for i := range overrides {
		if override, is := overrides[i].(map[string]any); is && override["name"] == inplace.OSImageVariable {
			value, isSet = override["value"].(string)
			return value, isSet
		}
	}
	return "", false
}

// setOverride sets the variable for a pool, or removes it where the value is empty, and reports whether the topology has that pool.
func setOverride(cluster *unstructured.Unstructured, pool, value string) bool {
	topology := fieldOf(fieldOf(cluster.Object, "spec"), "topology")
	if topology != nil && pool == clusterupgrade.ControlPlanePool {
		ensureField(topology, "controlPlane")
	}
	of := poolIn(cluster, pool)
	if of == nil {
		return false
	}
	variables := ensureField(of, "variables")
	overrides, _ := variables["overrides"].([]any)
	overrides = slices.DeleteFunc(slices.Clone(overrides), func(o any) bool {
		override, is := o.(map[string]any)
		return is && override["name"] == inplace.OSImageVariable
	})
	if value != "" {
		overrides = append(overrides, map[string]any{"name": inplace.OSImageVariable, "value": value})
	}
	variables["overrides"] = overrides
	if len(overrides) == 0 {
		delete(of, "variables") // none of them may be empty
	}
	if len(of) == 0 && pool == clusterupgrade.ControlPlanePool {
		delete(topology, "controlPlane")
	}
	return true
}

func fieldOf(object map[string]any, name string) map[string]any {
	field, _ := object[name].(map[string]any)
	return field
}

// ensureField returns an object's field, which it gets if it has none.
func ensureField(object map[string]any, name string) map[string]any {
	field := fieldOf(object, name)
	if field == nil {
		field = map[string]any{}
		object[name] = field
	}
	return field
}
