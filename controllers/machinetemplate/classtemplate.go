// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

const (
	clusterClassKind = "ClusterClass"
	// classSettleTime is what Cluster API's cache is given to see a change, before Cluster API is made to look.
	classSettleTime = 2 * time.Second
)

// tellTopologies makes Cluster API look at the Clusters of a ClusterClass whose template was changed. The
// topology controller reads the templates of a class whenever it reconciles and watches none of them, so that
// it would find the change within its sync period, ten minutes. It does watch ElementalClusters: what the
// class's templates hold is written there.
// Source: core/reconcilers/topology/cluster, Cluster API 1.14.
func (r *Reconciler) tellTopologies(ctx context.Context, template *infrav1.ElementalMachineTemplate) (ctrl.Result, error) {
	classes := classesOf(template)
	if len(classes) == 0 || template.Generation == 1 {
		return ctrl.Result{}, nil
	}
	if wait, err := r.settling(ctx, template); err != nil || wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, err
	}
	clusters := &clusterv1.ClusterList{}
	if err := r.Client.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing Clusters: %w", err)
	}
	failed := []error{}
	for _, class := range classes {
		failed = append(failed, r.tellClusters(ctx, clusters.Items, client.ObjectKey{Namespace: template.Namespace, Name: class}))
	}
	return ctrl.Result{}, errors.Join(failed...)
}

// tellClusters of a class what its templates hold. What fails for one does not keep the others.
func (r *Reconciler) tellClusters(ctx context.Context, clusters []clusterv1.Cluster, class client.ObjectKey) error {
	content, err := r.contentOf(ctx, class.Namespace, class.Name)
	if err != nil {
		return err
	}
	failed := []error{}
	for i := range clusters {
		if !clusters[i].Spec.Topology.IsDefined() || clusters[i].GetClassKey() != class {
			continue
		}
		failed = append(failed, r.tellTopology(ctx, &clusters[i], content))
	}
	return errors.Join(failed...)
}

// classesOf a template are its owners: Cluster API makes a ClusterClass the owner of the templates it names.
func classesOf(template *infrav1.ElementalMachineTemplate) []string {
	classes := []string{}
	for _, reference := range template.OwnerReferences {
		if reference.Kind == clusterClassKind {
			classes = append(classes, reference.Name)
		}
	}
	return classes
}

// settling is what is left of the settle time after anything but the status was last written. The cache keeps no
// record of who wrote what when.
func (r *Reconciler) settling(ctx context.Context, template *infrav1.ElementalMachineTemplate) (time.Duration, error) {
	live := &infrav1.ElementalMachineTemplate{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(template), live); err != nil {
		return 0, fmt.Errorf("reading when ElementalMachineTemplate %s was changed: %w", template.Name, err)
	}
	last := live.CreationTimestamp.Time
	for _, entry := range live.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return max(0, classSettleTime-r.Owners.Clock.Since(last)), nil
}

// contentOf identifies what all templates of a class hold.
func (r *Reconciler) contentOf(ctx context.Context, namespace, class string) (string, error) {
	list := &infrav1.ElementalMachineTemplateList{}
	if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing the ElementalMachineTemplates of ClusterClass %s: %w", class, err)
	}
	slices.SortFunc(list.Items, func(a, b infrav1.ElementalMachineTemplate) int { return cmp.Compare(a.Name, b.Name) })
	of := []*infrav1.ElementalMachineTemplate{}
	for i := range list.Items {
		if slices.Contains(classesOf(&list.Items[i]), class) {
			of = append(of, &list.Items[i])
		}
	}
	return rollout.ClassContent(of)
}

func (r *Reconciler) tellTopology(ctx context.Context, cluster *clusterv1.Cluster, content string) error {
	ref := cluster.Spec.InfrastructureRef
	if ref.APIGroup != infrav1.GroupVersion.Group {
		return nil
	}
	elemental := &infrav1.ElementalCluster{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, elemental); err != nil {
		return client.IgnoreNotFound(err)
	}
	if elemental.Annotations[infrav1.ClassTemplatesAnnotation] == content {
		return nil
	}
	base := elemental.DeepCopy()
	if elemental.Annotations == nil {
		elemental.Annotations = map[string]string{}
	}
	elemental.Annotations[infrav1.ClassTemplatesAnnotation] = content
	if err := r.Client.Patch(ctx, elemental, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("telling Cluster %s of the changed templates of its ClusterClass: %w", cluster.Name, client.IgnoreNotFound(err))
	}
	return nil
}
