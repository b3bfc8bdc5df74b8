// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/condition"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// crowded is how soon a machine is looked at again whose workload cluster is slow to answer for others. A Node that shows
// up wakes its machine before.
const crowded = 2 * time.Second

// reconcileNode looks after the Node of the host, if not too many other machines of its cluster are waiting for that to answer.
func (r *Reconciler) reconcileNode(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.cluster == nil {
		return ctrl.Result{}, nil
	}
	done, after := r.limit.Begin(client.ObjectKeyFromObject(s.cluster), client.ObjectKeyFromObject(s.machine))
	if done == nil {
		if !conditions.Has(s.machine, infrav1.ProviderIDReadyCondition) {
			condition.False(s.machine, infrav1.ProviderIDReadyCondition, infrav1.WorkloadClusterUnreachableReason,
				"Waiting until Cluster %s has answered for other Machines", s.cluster.Name)
		}
		return ctrl.Result{RequeueAfter: after}, nil
	}
	defer done()
	return ctrl.Result{}, r.reconcileProviderID(ctx, s)
}

// reconcileProviderID gives the Node of the host its provider ID, by which Cluster API finds it. A provider ID
// that somebody else gave it is never overwritten.
func (r *Reconciler) reconcileProviderID(ctx context.Context, s *scope) error {
	remote, err := r.connect(ctx, s.cluster)
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		// The connection is an event, see SetupWithManager.
		reportUnreachable(s, nil)
		return nil
	}
	if err != nil {
		return fmt.Errorf("connecting to the workload cluster: %w", err)
	}
	if err = settleProviderID(ctx, remote, s); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		reportUnreachable(s, err)
	}
	return err
}

func settleProviderID(ctx context.Context, remote client.Client, s *scope) error {
	node, err := findNode(ctx, workload.WithDeadline(remote), s)
	if err != nil {
		return err
	}
	if node == nil {
		condition.False(s.machine, infrav1.ProviderIDReadyCondition, infrav1.NodeNotFoundReason,
			"Waiting for Node %s to register", s.host.Name)
		return nil
	}
	return setProviderID(ctx, remote, s, node)
}

// connect returns a client of the workload cluster, and sees to it that new Nodes are noticed.
func (r *Reconciler) connect(ctx context.Context, cluster *clusterv1.Cluster) (client.Client, error) {
	key := client.ObjectKeyFromObject(cluster)
	if r.controller != nil {
		if err := r.ClusterCache.Watch(ctx, key, r.nodeWatcher(key)); err != nil {
			return nil, err
		}
	}
	return r.ClusterCache.GetClient(ctx, key)
}

// reportUnreachable keeps what was known: the provider ID of a Node does not change because the
// cluster's only control plane node reboots. The cause is nil where there is no connection.
func reportUnreachable(s *scope, cause error) {
	if conditions.IsTrue(s.machine, infrav1.ProviderIDReadyCondition) {
		return
	}
	if !ptr.Deref(s.cluster.Status.Initialization.ControlPlaneInitialized, false) {
		condition.False(s.machine, infrav1.ProviderIDReadyCondition, infrav1.WaitingForControlPlaneInitializedReason,
			"Waiting for the control plane of Cluster %s", s.cluster.Name)
		return
	}
	condition.False(s.machine, infrav1.ProviderIDReadyCondition, infrav1.WorkloadClusterUnreachableReason,
		"%s", workload.Unreached(s.cluster.Name, cause))
}

// findNode returns the host's Node: the one that Cluster API has found, or the one with the name of the
// host or one of its host names. It returns nil while there is none.
func findNode(ctx context.Context, remote client.Reader, s *scope) (*corev1.Node, error) {
	for _, name := range nodeNames(s) {
		node := &corev1.Node{}
		err := remote.Get(ctx, client.ObjectKey{Name: name}, node)
		if err == nil {
			return node, nil
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading Node %s: %w", name, err)
		}
	}
	return nil, nil
}

func nodeNames(s *scope) []string {
	var names []string
	if s.owner != nil && s.owner.Status.NodeRef.IsDefined() {
		names = append(names, s.owner.Status.NodeRef.Name)
	}
	if !hoststate.Bootstrapped(s.host) {
		// A Node of that name is left over from the host's former life.
		return names
	}
	names = append(names, s.host.Name)
	for _, address := range s.host.Status.Addresses {
		if address.Type == clusterv1.MachineHostName && address.Address != s.host.Name {
			names = append(names, address.Address)
		}
	}
	return names
}

// isOfHost reports whether a Node that carries nobody's provider ID is the host's: it has to run in the very boot that the host
// reports. Names do not show that. Who can register a Node, as any kubelet with a bootstrap token can, chooses its name, and
// would be taken for the host.
func isOfHost(s *scope, node *corev1.Node) bool {
	reported, running := s.host.Status.OS.BootID, node.Status.NodeInfo.BootID
	if reported != "" && reported == running {
		return true
	}
	condition.False(s.machine, infrav1.ProviderIDReadyCondition, infrav1.NodeBootIDMismatchReason,
		"Node %s has the name of ElementalHost %s, but runs in boot %q and the host reports boot %q: if that stays so, another machine has registered under this name",
		node.Name, s.host.Name, running, reported)
	return false
}

func setProviderID(ctx context.Context, remote client.Client, s *scope, node *corev1.Node) error {
	wanted := s.machine.Spec.ProviderID
	switch node.Spec.ProviderID {
	case wanted:
	case "":
		if !isOfHost(s, node) {
			return nil
		}
		ctrl.LoggerFrom(ctx).Info("Setting provider ID on Node", "Node", klog.KObj(node), "providerID", wanted)
		before := node.DeepCopy()
		node.Spec.ProviderID = wanted
		if err := remote.Patch(ctx, node, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("writing spec.providerID of Node %s: %w", node.Name, err)
		}
	default:
		condition.False(s.machine, infrav1.ProviderIDReadyCondition, infrav1.NodeProviderIDMismatchReason,
			"Node %s has the provider ID %s, and not %s: do not let a cloud provider or the kubelet's --provider-id set another one",
			node.Name, node.Spec.ProviderID, wanted)
		return nil
	}
	condition.True(s.machine, infrav1.ProviderIDReadyCondition)
	return nil
}
