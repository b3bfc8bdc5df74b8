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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
)

// collectRetry is how soon a clone is looked at again that no Machine is brought to and something still names: Cluster
// API removes MachineSets when nothing else happens that would wake the template.
const collectRetry = 15 * time.Second

// collect deletes the clones that nothing names any more and whose Cluster is not paused, and says when to look again at
// the others that no Machine is brought to; zero is never. A user may have an owner refer to a clone: Cluster API needs a template as
// long as a MachineSet refers to it, and compares Machines with the template that they were made from.
func (r *Reconciler) collect(ctx context.Context, seen *observation) (again time.Duration, err error) {
	unused := maps.Clone(seen.clones)
	for _, name := range usedClones(seen) {
		delete(unused, name)
	}
	spare := len(unused)
	for _, drop := range []func(context.Context, map[string]*infrav1.ElementalMachineTemplate) error{
		r.dropReferred,
		r.dropNamed, // by the cache, which spares most live reads
		r.dropPaused,
		r.dropNamedLive, // what was not there while the Cluster was paused is there now
	} {
		if len(unused) == 0 {
			break
		}
		if err := drop(ctx, unused); err != nil {
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

// dropReferred takes out the clones that an owner refers to.
func (r *Reconciler) dropReferred(ctx context.Context, unused map[string]*infrav1.ElementalMachineTemplate) error {
	for name, clone := range unused {
		owners, err := r.Owners.List(ctx, clone.Namespace, name)
		if err != nil {
			return err
		}
		if len(owners) > 0 {
			delete(unused, name)
		}
	}
	return nil
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

// dropNamed takes out the templates that a MachineSet or an ElementalMachine of the cache names.
func (r *Reconciler) dropNamed(ctx context.Context, unused map[string]*infrav1.ElementalMachineTemplate) error {
	for name, clone := range unused {
		for _, naming := range []client.ObjectList{&clusterv1.MachineSetList{}, &infrav1.ElementalMachineList{}} {
			if err := r.Client.List(ctx, naming, client.InNamespace(clone.Namespace),
				client.MatchingFields{clusterview.ByTemplate: name}, client.UnsafeDisableDeepCopy); err != nil {
				return fmt.Errorf("looking in %T for what names ElementalMachineTemplate %s: %w", naming, name, err)
			}
			if meta.LenList(naming) > 0 {
				delete(unused, name)
			}
		}
	}
	return nil
}

// dropNamedLive does the same past the cache, in the Clusters that the templates were made for, by the label that Cluster API
// gives MachineSets and ElementalMachines; of the latter, of which there may be thousands, it reads the metadata. It is for
// templates that are deleted next, and so is rare.
// Source: Cluster API 1.14, core/webhooks/admission/machineset.go and controllers/external/util.go.
func (r *Reconciler) dropNamedLive(ctx context.Context, unused map[string]*infrav1.ElementalMachineTemplate) error {
	selected, err := inClustersOf(unused)
	if err != nil {
		return err
	}
	machineSets := &clusterv1.MachineSetList{}
	if err := r.Live.List(ctx, machineSets, client.InNamespace(namespaceOf(unused)), selected); err != nil {
		return fmt.Errorf("listing MachineSets: %w", err)
	}
	machines := &metav1.PartialObjectMetadataList{}
	machines.SetGroupVersionKind(infrav1.GroupVersion.WithKind("ElementalMachineList"))
	if err := r.Live.List(ctx, machines, client.InNamespace(namespaceOf(unused)), selected); err != nil {
		return fmt.Errorf("listing ElementalMachines: %w", err)
	}
	for i := range machineSets.Items {
		delete(unused, machineSets.Items[i].Spec.Template.Spec.InfrastructureRef.Name)
	}
	for i := range machines.Items {
		delete(unused, machines.Items[i].Annotations[clusterv1.TemplateClonedFromNameAnnotation])
		delete(unused, machines.Items[i].Annotations[infrav1.DirectTemplateAnnotation])
	}
	return nil
}

// inClustersOf selects what belongs to the Clusters that clones were made for.
func inClustersOf(clones map[string]*infrav1.ElementalMachineTemplate) (client.ListOption, error) {
	clusters := sets.New[string]()
	for _, clone := range clones {
		clusters.Insert(clone.Labels[clusterv1.ClusterNameLabel])
	}
	belongs, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.In, sets.List(clusters))
	if err != nil {
		return nil, fmt.Errorf("selecting the Clusters of clones: %w", err)
	}
	return client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*belongs)}, nil
}

// namespaceOf the clones of a template, which are all in one.
func namespaceOf(clones map[string]*infrav1.ElementalMachineTemplate) string {
	for _, clone := range clones {
		return clone.Namespace
	}
	return ""
}
