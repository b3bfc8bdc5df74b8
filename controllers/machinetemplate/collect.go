// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
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
	for _, candidate := range seen.concerned {
		delete(unused, owner.TemplateName(candidate))
		delete(unused, candidate.Object().GetAnnotations()[infrav1.RolloutCloneAnnotation])
		delete(unused, seen.cloneFor(candidate))
	}
	spare := len(unused)
	for _, drop := range []func(context.Context, map[string]*infrav1.ElementalMachineTemplate) error{
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
	if err := dropReferred(ctx, r.Client, unused); err != nil {
		return err
	}
	for name, clone := range unused {
		made := &infrav1.ElementalMachineList{}
		if err := r.Client.List(ctx, made, client.InNamespace(clone.Namespace),
			client.MatchingFields{clusterview.ByTemplate: name}, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing the ElementalMachines made from ElementalMachineTemplate %s: %w", name, err)
		}
		if len(made.Items) > 0 {
			delete(unused, name)
		}
	}
	return nil
}

// dropNamedLive does the same past the cache, with the metadata of the ElementalMachines, of which there may be thousands. It is
// for templates that are deleted next, and so is rare.
func (r *Reconciler) dropNamedLive(ctx context.Context, unused map[string]*infrav1.ElementalMachineTemplate) error {
	if err := dropReferred(ctx, r.Live, unused); err != nil || len(unused) == 0 {
		return err
	}
	machines := &metav1.PartialObjectMetadataList{}
	machines.SetGroupVersionKind(infrav1.GroupVersion.WithKind("ElementalMachineList"))
	if err := r.Live.List(ctx, machines, client.InNamespace(namespaceOf(unused))); err != nil {
		return fmt.Errorf("listing ElementalMachines: %w", err)
	}
	for i := range machines.Items {
		delete(unused, machines.Items[i].Annotations[clusterv1.TemplateClonedFromNameAnnotation])
	}
	return nil
}

// dropReferred takes out the templates that a MachineSet refers to.
func dropReferred(ctx context.Context, reader client.Reader, unused map[string]*infrav1.ElementalMachineTemplate) error {
	sets := &clusterv1.MachineSetList{}
	if err := reader.List(ctx, sets, client.InNamespace(namespaceOf(unused)), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing MachineSets: %w", err)
	}
	for i := range sets.Items {
		delete(unused, sets.Items[i].Spec.Template.Spec.InfrastructureRef.Name)
	}
	return nil
}

// namespaceOf the clones of a template, which are all in one.
func namespaceOf(clones map[string]*infrav1.ElementalMachineTemplate) string {
	for _, clone := range clones {
		return clone.Namespace
	}
	return ""
}
