// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhosts,verbs=get;list;watch

// prefetch changes all templates, so that every node has its attempt, and waits until the hosts have fetched the image. The nodes wait for their stage, as
// their attempts read. Windows do not hold it. Until a host has resolved the image one template is changed: all nodes get the same digest.
func (r *Reconciler) prefetch(ctx context.Context, o *observation) (sequence.Result, error) {
	switch {
	case o.plan.HasCompleted(stagePrefetch):
		return sequence.Done(), nil
	case o.upgrade.Spec.Paused:
		return sequence.Wait(retry, "%s", pausedText), nil
	case len(o.plan.Failed()) > 0:
		return sequence.Wait(retry, "%s", o.plan.Message(o.now)), nil
	}
	if result, err := r.changeTemplates(ctx, o); err != nil || !result.IsDone() || !o.fetchesAhead() {
		return result, err
	}
	if o.fetch = o.plan.Fetch(); o.fetch.Message != "" {
		return sequence.Wait(retry, "%s", o.fetch.Message), nil
	}
	return sequence.Done(), nil
}

// fetchesAhead reports whether hosts fetch the image before the upgrade of their node may start.
func (o *observation) fetchesAhead() bool {
	return o.elemental.Spec.NodeUpgradeOption.WithDefaults().Prefetch != infrav1.PrefetchNone
}

// changeTemplates of all stages, in their order, but for those of a topology.
func (r *Reconciler) changeTemplates(ctx context.Context, o *observation) (sequence.Result, error) {
	for _, stage := range o.plan.Stages {
		for _, template := range templatesOf(stage) {
			if clusterupgrade.IsOfTopology(template) {
				continue
			}
			if why, err := r.changeTemplate(ctx, o, template); err != nil || why != "" {
				return sequence.Wait(waitFor(why), "%s", why), err
			}
			isResolving := o.fetchesAhead() && clusterupgrade.Digest(o.upgrade) == "" && o.plan.WillResolve(template)
			if isResolving && !o.plan.RancherDrains { // whose drain of a node whose template is not changed would upgrade nothing
				return sequence.Done(), nil // its hosts resolve the image for all
			}
		}
	}
	return sequence.Done(), nil
}

// recordDigest records the digest that all nodes get, and reports whether it was not known before.
func (r *Reconciler) recordDigest(ctx context.Context, o *observation) (isNew bool, err error) {
	if clusterupgrade.Digest(o.upgrade) != "" {
		return false, nil
	}
	hosts, err := r.hosts(ctx, o)
	if err != nil {
		return false, err
	}
	digest := o.plan.Resolved(hosts)
	if digest == "" {
		return false, nil
	}
	annotations.AddAnnotations(o.upgrade, map[string]string{infrav1.ResolvedDigestAnnotation: rollout.Pin(clusterupgrade.Image(o.upgrade), digest)})
	o.upgrade.Status.Digest = digest
	return true, nil
}

// hosts of the Cluster, by name.
func (r *Reconciler) hosts(ctx context.Context, o *observation) (map[string]*infrav1.ElementalHost, error) {
	listed, err := clusterview.New(r.Client, client.ObjectKeyFromObject(o.cluster)).Hosts(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the ElementalHosts of Cluster %s: %w", o.cluster.Name, err)
	}
	hosts := map[string]*infrav1.ElementalHost{}
	for i := range listed {
		hosts[listed[i].Name] = &listed[i]
	}
	return hosts, nil
}
