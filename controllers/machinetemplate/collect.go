// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// collectRetry is how soon a clone is looked at again that no owner wants and something still names: Cluster
// API removes MachineSets when nothing else happens that would wake the template.
const collectRetry = 15 * time.Second

// collect deletes the clones that nothing names any more and whose Cluster is not paused, and says when to look again at
// the others that no owner wants; zero is never. Cluster API needs a template as long as a MachineSet refers to it, and
// compares Machines with the template they were made from.
func (r *Reconciler) collect(ctx context.Context, seen *observation) (again time.Duration, err error) {
	unused := maps.Clone(seen.clones)
	for _, candidate := range seen.all {
		delete(unused, owner.TemplateName(candidate))
		delete(unused, candidate.Object().GetAnnotations()[infrav1.RolloutCloneAnnotation])
		delete(unused, seen.cloneFor(candidate))
	}
	spare := len(unused)
	named := func(reader client.Reader, machines client.ObjectList) error {
		return dropNamed(ctx, reader, machines, seen.template.Namespace, unused)
	}
	for _, drop := range []func() error{
		func() error { return named(r.Client, &infrav1.ElementalMachineList{}) }, // which spares most live reads
		func() error { return r.dropPaused(ctx, unused) },
		func() error { return named(r.Live, machineMetadata()) }, // what was not there while the Cluster was paused is there now
	} {
		if len(unused) == 0 {
			break
		}
		if err := drop(); err != nil {
			return 0, err
		}
	}
	if len(unused) < spare {
		again = collectRetry
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		clone := unused[name]
		preconditions := client.Preconditions{UID: ptr.To(clone.UID), ResourceVersion: ptr.To(clone.ResourceVersion)}
		if err := r.Client.Delete(ctx, clone, preconditions); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("deleting the unused clone %s: %w", name, err)
		}
		ctrl.LoggerFrom(ctx).Info("Deleted a clone that nothing refers to", "clone", name)
	}
	return again, nil
}

// dropPaused takes out the clones of Clusters that are paused: "clusterctl move" brings what names a clone after it. The
// Cluster is there before either, and paused until all are, which the cache may not have heard of.
func (r *Reconciler) dropPaused(ctx context.Context, unused map[string]*infrav1.ElementalMachineTemplate) error {
	for name, clone := range unused {
		cluster := &clusterv1.Cluster{}
		key := client.ObjectKey{Namespace: clone.Namespace, Name: clone.Labels[clusterv1.ClusterNameLabel]}
		if err := r.Live.Get(ctx, key, cluster); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading Cluster %s: %w", key.Name, err)
		}
		if annotations.IsPaused(cluster, clone) {
			delete(unused, name)
		}
	}
	return nil
}

// machineMetadata is an empty list of the metadata of ElementalMachines, of which there may be thousands to be read live.
func machineMetadata() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(infrav1.GroupVersion.WithKind("ElementalMachineList"))
	return list
}

// dropNamed takes out the templates that a MachineSet or an ElementalMachine names. The latter are listed in machines.
func dropNamed(ctx context.Context, reader client.Reader, machines client.ObjectList, namespace string,
	unused map[string]*infrav1.ElementalMachineTemplate,
) error {
	sets := &clusterv1.MachineSetList{}
	if err := reader.List(ctx, sets, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing MachineSets: %w", err)
	}
	for i := range sets.Items {
		delete(unused, sets.Items[i].Spec.Template.Spec.InfrastructureRef.Name)
	}
	if err := reader.List(ctx, machines, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing ElementalMachines: %w", err)
	}
	return meta.EachListItem(machines, func(item runtime.Object) error {
		machine, err := meta.Accessor(item)
		if err == nil {
			delete(unused, machine.GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation])
		}
		return err
	})
}
