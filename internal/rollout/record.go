// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// ByTemplate selects ElementalRollouts by their template. It is a field selector of the API server and an index of the cache.
const ByTemplate = "spec.templateName"

// AddIndexes adds the index to a cache.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &infrav1.ElementalRollout{}, ByTemplate, func(object client.Object) []string {
		return []string{object.(*infrav1.ElementalRollout).Spec.TemplateName}
	})
	if err != nil {
		return fmt.Errorf("indexing ElementalRollouts by their template: %w", err)
	}
	return nil
}

// OfTemplate are the rollouts of a template to all Clusters, in no order.
func OfTemplate(ctx context.Context, reader client.Reader, namespace, template string) ([]infrav1.ElementalRollout, error) {
	found := &infrav1.ElementalRolloutList{}
	if err := reader.List(ctx, found, client.InNamespace(namespace), client.MatchingFields{ByTemplate: template}); err != nil {
		return nil, fmt.Errorf("listing the ElementalRollouts of ElementalMachineTemplate %s: %w", template, err)
	}
	return found.Items, nil
}

// Last of the rollouts of a template to a Cluster; nil if there is none. Of two of the same revision, which two managers may have made, all choose the same.
func Last(rollouts []infrav1.ElementalRollout, cluster string) *infrav1.ElementalRollout {
	return lastWhere(rollouts, cluster, func(*infrav1.ElementalRollout) bool { return true })
}

func lastWhere(rollouts []infrav1.ElementalRollout, cluster string, isChosen func(*infrav1.ElementalRollout) bool) *infrav1.ElementalRollout {
	var last *infrav1.ElementalRollout
	for i := range rollouts {
		of := &rollouts[i]
		if of.Spec.ClusterName == cluster && isChosen(of) && (last == nil || compare(of, last) > 0) {
			last = of
		}
	}
	return last
}

func compare(a, b *infrav1.ElementalRollout) int {
	return cmp.Or(cmp.Compare(a.Spec.Revision, b.Spec.Revision), cmp.Compare(a.Name, b.Name))
}

// Current is the last rollout of a template to a Cluster, if that rolls out an OS and is not completed; nil otherwise.
func Current(rollouts []infrav1.ElementalRollout, cluster string, os infrav1.OSVersionManagement) *infrav1.ElementalRollout {
	last := Last(rollouts, cluster)
	if last == nil || last.Spec.Completed || !osversion.Same(last.Spec.OSVersionManagement, os) {
		return nil
	}
	return last
}

// CurrentOf is Current, of what a reader has.
func CurrentOf(
	ctx context.Context, reader client.Reader, template *infrav1.ElementalMachineTemplate, cluster string,
) (*infrav1.ElementalRollout, error) {
	all, err := OfTemplate(ctx, reader, template.Namespace, template.Name)
	return Current(all, cluster, osversion.OfTemplate(template)), err
}

// New makes the next rollout of the content of a template to a Cluster, which is not created. What holds the last one of the same OS holds it, too, unless
// that was completed.
func New(
	template *infrav1.ElementalMachineTemplate, cluster *clusterv1.Cluster, options infrav1.NodeUpgradeOption, former []infrav1.ElementalRollout,
) *infrav1.ElementalRollout {
	os := osversion.OfTemplate(template)
	made := &infrav1.ElementalRollout{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: template.Namespace, Name: newName(template.Name),
			Labels: map[string]string{clusterv1.ClusterNameLabel: LabelValue(cluster.Name)},
		},
		Spec: infrav1.ElementalRolloutSpec{
			ClusterName: cluster.Name, TemplateName: template.Name, Revision: 1, OSVersionManagement: osversion.Normalized(os), Options: options,
		},
	}
	owner.SetCluster(made, cluster)
	if filter, found := template.Labels[clusterv1.WatchLabel]; found {
		made.Labels[clusterv1.WatchLabel] = filter
	}
	if last := Last(former, cluster.Name); last != nil {
		made.Spec.Revision = last.Spec.Revision + 1
	}
	held := lastWhere(former, cluster.Name, func(of *infrav1.ElementalRollout) bool {
		return !of.Spec.Completed && osversion.Same(of.Spec.OSVersionManagement, os)
	})
	if held != nil {
		made.Spec.HeldBy = held.Spec.HeldBy
	}
	return made
}

// Patch writes what has changed of a rollout with the resourceVersion that was read: several controllers write it. Doing is for the error.
func Patch(ctx context.Context, c client.Client, before, of *infrav1.ElementalRollout, doing string) error {
	if err := c.Patch(ctx, of, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("%s ElementalRollout %s: %w", doing, of.Name, err)
	}
	return nil
}
