// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

const (
	clusterClassKind = "ClusterClass"
	// classSettleTime is what Cluster API's cache is given to see a change, before Cluster API is made to look.
	classSettleTime = 2 * time.Second
)

// Topologies tells the topology controller of Cluster API what it does not watch.
type Topologies struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server: the cache keeps no record of who wrote what when.
	Live client.Reader
	// Clock tells how long ago a template was changed.
	Clock clock.PassiveClock
}

// Tell makes Cluster API look at the Clusters of a ClusterClass whose template was changed. The
// topology controller reads the templates of a class whenever it reconciles and watches none of them, so that
// it would find the change within its sync period, ten minutes. It does watch ElementalClusters: what the
// class's templates hold is written there. after is when to call it again; zero where there is nothing left to tell.
func (t Topologies) Tell(ctx context.Context, template *infrav1.ElementalMachineTemplate) (after time.Duration, err error) {
	classes := classesOf(template)
	if len(classes) == 0 || template.Generation == 1 {
		return 0, nil
	}
	if wait, err := t.settling(ctx, template); err != nil || wait > 0 {
		return wait, err
	}
	clusters := &clusterv1.ClusterList{}
	if err := t.Client.List(ctx, clusters, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("listing Clusters: %w", err)
	}
	failed := []error{}
	for _, class := range classes {
		failed = append(failed, t.tellClusters(ctx, clusters.Items, client.ObjectKey{Namespace: template.Namespace, Name: class}))
	}
	return 0, errors.Join(failed...)
}

// tellClusters of a class what its templates hold. What fails for one does not keep the others.
func (t Topologies) tellClusters(ctx context.Context, clusters []clusterv1.Cluster, class client.ObjectKey) error {
	content, err := t.contentOf(ctx, class.Namespace, class.Name)
	if err != nil {
		return err
	}
	failed := []error{}
	for i := range clusters {
		if !clusters[i].Spec.Topology.IsDefined() || clusters[i].GetClassKey() != class {
			continue
		}
		failed = append(failed, t.tellTopology(ctx, &clusters[i], content))
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

// settling is what is left of the settle time after anything but the status was last written.
func (t Topologies) settling(ctx context.Context, template *infrav1.ElementalMachineTemplate) (time.Duration, error) {
	live := &infrav1.ElementalMachineTemplate{}
	if err := t.Live.Get(ctx, client.ObjectKeyFromObject(template), live); err != nil {
		return 0, fmt.Errorf("reading when ElementalMachineTemplate %s was changed: %w", template.Name, err)
	}
	last := live.CreationTimestamp.Time
	for _, entry := range live.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return observed.Left(classSettleTime, last, t.Clock.Now()), nil
}

// contentOf identifies what all templates of a class hold.
func (t Topologies) contentOf(ctx context.Context, namespace, class string) (string, error) {
	list := &infrav1.ElementalMachineTemplateList{}
	if err := t.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
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

func (t Topologies) tellTopology(ctx context.Context, cluster *clusterv1.Cluster, content string) error {
	ref := cluster.Spec.InfrastructureRef
	if ref.APIGroup != infrav1.GroupVersion.Group {
		return nil
	}
	elemental := &infrav1.ElementalCluster{}
	if err := t.Client.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, elemental); err != nil {
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
	if err := t.Client.Patch(ctx, elemental, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("telling Cluster %s of the changed templates of its ClusterClass: %w", cluster.Name, client.IgnoreNotFound(err))
	}
	return nil
}
