// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagerules"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=elementalhosts,verbs=get;list;watch;patch

// prefetch has all hosts fetch the image before anything of a node is disrupted. Windows do not hold it.
func (r *Reconciler) prefetch(ctx context.Context, o *observation) (sequence.Result, error) {
	hosts, err := r.hosts(ctx, o)
	if err != nil {
		return sequence.Result{}, err
	}
	if err := r.dropDone(ctx, o, hosts); err != nil {
		return sequence.Result{}, err
	}
	if o.isFetched() {
		return sequence.Done(), nil
	}
	o.fetch = o.plan.Prefetch(hosts)
	if why, err := r.heldBeforeFetch(ctx, o); err != nil || why != "" {
		return sequence.Wait(retry, "%s", why), err
	}
	if o.fetch.Digest != clusterupgrade.Digest(o.upgrade) {
		annotations.AddAnnotations(o.upgrade, map[string]string{
			infrav1.ResolvedDigestAnnotation: rollout.Pin(clusterupgrade.Image(o.upgrade), o.fetch.Digest),
		})
		return sequence.Wait(soon, "recording digest %s, to which the first host has resolved the image", o.fetch.Digest), nil
	}
	if why, err := r.orderImages(ctx, o, hosts); err != nil || why != "" {
		return sequence.Wait(retry, "%s", why), err
	}
	if o.fetch.Message == "" {
		return sequence.Done(), nil
	}
	return sequence.Wait(retry, "%s", o.fetch.Message), nil
}

// isFetched reports whether the stage is recorded as done, or the cluster does not want it.
func (o *observation) isFetched() bool {
	return o.plan.HasCompleted(stagePrefetch) || o.elemental.Spec.NodeUpgradeOption.WithDefaults().Prefetch == infrav1.PrefetchNone
}

// heldBeforeFetch says why no host is ordered to fetch the image; empty if nothing stands against it.
func (r *Reconciler) heldBeforeFetch(ctx context.Context, o *observation) (string, error) {
	if o.upgrade.Spec.Paused {
		return pausedText, nil
	}
	if o.fetch.Digest == "" {
		return "", nil
	}
	others, err := clusterview.Quarantining(ctx, r.Client, o.upgrade.Namespace, o.fetch.Digest)
	if err != nil {
		return "", err
	}
	return preflight.Quarantined(o.elemental, others, o.fetch.Digest), nil
}

// orderImages has hosts fetch the image, and brings up to date what others were ordered: a person may have mended what kept them from it.
func (r *Reconciler) orderImages(ctx context.Context, o *observation, hosts map[string]*infrav1.ElementalHost) (string, error) {
	roots := &imagerules.Roots{Live: r.APIReader, Clock: r.Clock}
	for _, member := range slices.Concat(o.fetch.Order, o.fetch.Ordered) {
		host := hosts[member.Elemental.Spec.HostRef.Name]
		order, err := o.order(member, host)
		if err != nil {
			return "", err
		}
		if equality.Semantic.DeepEqual(host.Spec.Prefetch, order) {
			continue
		}
		if why, err := roots.Missing(ctx, o.upgrade.Namespace, order.ImageVerification, order.ImageURI); err != nil || why != "" {
			return why, err
		}
		if err := r.orderImage(ctx, o, member); err != nil {
			return "", err
		}
	}
	return "", nil
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

// orderImage has the host of a member fetch the image. Which host serves it is read live.
func (r *Reconciler) orderImage(ctx context.Context, o *observation, member clusterupgrade.Member) error {
	host, err := existing.Get(ctx, r.APIReader, &infrav1.ElementalHost{}, o.upgrade.Namespace, member.Elemental.Spec.HostRef.Name)
	if err != nil || host == nil || !association.Serves(host, member.Elemental) {
		return err
	}
	order, err := o.order(member, host)
	if err != nil {
		return err
	}
	return r.setOrder(ctx, host, order)
}

// order of the image for a host, with the rules that an attempt would have.
func (o *observation) order(member clusterupgrade.Member, host *infrav1.ElementalHost) (*infrav1.HostPrefetch, error) {
	order := &infrav1.HostPrefetch{
		ID: clusterupgrade.OrderID(o.upgrade), ImageURI: clusterupgrade.Image(o.upgrade), Digest: clusterupgrade.Digest(o.upgrade),
		ImageVerification: imagerules.Governing(o.elemental, host),
	}
	if member.Template == nil {
		return order, nil
	}
	desired, _, err := o.desired(member.Template)
	if err != nil {
		return nil, err
	}
	version, err := osversion.Decode(desired)
	if err != nil {
		return nil, fmt.Errorf("decoding the OS of ElementalMachineTemplate %s: %w", member.Template.Name, err)
	}
	order.UpgradeRecovery = version.UpgradeRecovery
	return order, nil
}

// dropDone removes the orders of hosts that run the OS: they need the image no more. One that others write at the moment is dropped later.
func (r *Reconciler) dropDone(ctx context.Context, o *observation, hosts map[string]*infrav1.ElementalHost) error {
	for _, member := range o.plan.Members() {
		if member.State != clusterupgrade.Done || member.Elemental.Spec.HostRef == nil {
			continue
		}
		if err := r.dropOrder(ctx, o, hosts[member.Elemental.Spec.HostRef.Name]); err != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// dropOrders removes what is ordered of the upgrade's image, as the reader has it. A host keeps what an attempt of its needs. Before the upgrade
// ends they are read live: the cache may not have the orders of a moment ago, and nobody removes them afterwards.
func (r *Reconciler) dropOrders(ctx context.Context, o *observation, reader client.Reader) error {
	for _, member := range o.plan.Members() {
		if member.Elemental.Spec.HostRef == nil {
			continue
		}
		host, err := existing.Get(ctx, reader, &infrav1.ElementalHost{}, o.upgrade.Namespace, member.Elemental.Spec.HostRef.Name)
		if err != nil {
			return err
		}
		if err := r.dropOrder(ctx, o, host); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) dropOrder(ctx context.Context, o *observation, host *infrav1.ElementalHost) error {
	if host == nil || !clusterupgrade.IsOrderOf(o.upgrade, host.Spec.Prefetch) {
		return nil
	}
	return r.setOrder(ctx, host, nil)
}

// setOrder of a host; nil for none.
func (r *Reconciler) setOrder(ctx context.Context, host *infrav1.ElementalHost, order *infrav1.HostPrefetch) error {
	if equality.Semantic.DeepEqual(host.Spec.Prefetch, order) {
		return nil
	}
	changed := host.DeepCopy()
	changed.Spec.Prefetch = order
	patch := client.MergeFromWithOptions(host.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, changed, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("changing spec.prefetch of ElementalHost %s: %w", host.Name, err)
	}
	return nil
}

// fetchChanged is what stage Prefetch depends on of an ElementalHost.
func fetchChanged(host *infrav1.ElementalHost) any {
	return []any{host.Spec.Prefetch, host.Status.Prefetch, host.Status.Agent.Prefetches}
}
