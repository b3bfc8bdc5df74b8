// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
)

// target is an OS that nodes of the cluster have to run.
type target struct {
	// image is its URI; empty where none is asked for.
	image string
	// digest of the image; empty until it is known.
	digest string
}

// node is what the status line says of a node.
type node struct {
	name   string
	target target
	// pool is the owner of the node's Machine.
	pool string
	// onTarget says that the node's host runs the target.
	onTarget bool
	// drifted says that the host left its OS by itself.
	drifted bool
	// attempt is the newest on the node. Nil if there is none.
	attempt *infrav1.ElementalHostUpgrade
}

// observeNodes returns the nodes of a cluster, by name. A machine is a node once a host serves it.
func (r *Reconciler) observeNodes(ctx context.Context, cluster client.ObjectKey) ([]node, error) {
	machines := &infrav1.ElementalMachineList{}
	err := r.Client.List(ctx, machines, client.InNamespace(cluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing ElementalMachines of Cluster %s: %w", cluster.Name, err)
	}
	newest, err := r.newestAttempts(ctx, cluster)
	if err != nil {
		return nil, err
	}
	owners := &owner.Memo{Owners: &owner.Owners{Client: r.Client}}
	nodes := make([]node, 0, len(machines.Items))
	for i := range machines.Items {
		machine := &machines.Items[i]
		if machine.Spec.HostRef == nil || !machine.DeletionTimestamp.IsZero() {
			continue
		}
		found, err := r.observeNode(ctx, machine, owners)
		if err != nil {
			return nil, err
		}
		found.attempt = newest[machine.Name]
		nodes = append(nodes, found)
	}
	slices.SortFunc(nodes, func(a, b node) int { return cmp.Compare(a.name, b.name) })
	return nodes, nil
}

func (r *Reconciler) observeNode(ctx context.Context, machine *infrav1.ElementalMachine, owners *owner.Memo) (node, error) {
	found := node{name: machine.Spec.HostRef.Name, pool: pausing.Pool(machine.Labels), drifted: conditions.IsTrue(machine, infrav1.OSDriftedCondition)}
	made, err := util.GetOwnerMachine(ctx, r.Client, machine.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return node{}, fmt.Errorf("reading the Machine of ElementalMachine %s: %w", machine.Name, err)
	}
	if err == nil && made != nil && made.Status.NodeRef.IsDefined() {
		found.name = made.Status.NodeRef.Name
	}
	wanted, err := desiredOf(ctx, owners, made, machine)
	if err != nil {
		return node{}, err
	}
	found.target = wanted.target()
	host := &infrav1.ElementalHost{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: machine.Spec.HostRef.Name}, host)
	if client.IgnoreNotFound(err) != nil {
		return node{}, fmt.Errorf("reading ElementalHost %s: %w", machine.Spec.HostRef.Name, err)
	}
	found.onTarget = err == nil && runs(host, wanted)
	if found.onTarget {
		found.target.digest = cmp.Or(host.Status.OS.Digest, found.target.digest)
	}
	return found, nil
}

// runs says whether a host runs what is wanted of it: the digest that the rollout is pinned to, or the image.
// The first alone would never be true of a host that was added after the image's tag had moved: the pin is
// for those whose turn comes in a rollout, and nothing brings a node to another digest of its image.
func runs(host *infrav1.ElementalHost, wanted desired) bool {
	if wanted.pinned != "" && host.Status.OS.Digest == wanted.pinned {
		return true
	}
	return hoststate.Runs(host, wanted.os) == hoststate.MatchSame
}

// newestAttempts are the newest attempts of a cluster, by ElementalMachine.
func (r *Reconciler) newestAttempts(ctx context.Context, cluster client.ObjectKey) (map[string]*infrav1.ElementalHostUpgrade, error) {
	ofCluster, err := attempts.OfCluster(ctx, r.Client, cluster)
	if err != nil {
		return nil, err
	}
	newest := map[string]*infrav1.ElementalHostUpgrade{}
	for i := range ofCluster {
		attempt := &ofCluster[i]
		if other := newest[attempt.Spec.ElementalMachineName]; other == nil || infrav1.OldestFirst(other, attempt) < 0 {
			newest[attempt.Spec.ElementalMachineName] = attempt
		}
	}
	return newest, nil
}

// desired is the OS that a machine is to run in the end.
type desired struct {
	os infrav1.OSVersionManagement
	// pinned is the digest that the rollout is pinned to; empty until it is.
	pinned string
}

func (d desired) target() target {
	version, err := osversion.Decode(d.os)
	if err != nil {
		return target{}
	}
	_, asked, _ := strings.Cut(version.ImageURI, "@")
	return target{image: version.ImageURI, digest: cmp.Or(d.pinned, asked)}
}

// desiredOf a machine is what its owner's template asks for by now, which in the middle of a rollout is not yet
// in the machine; without such an owner it is what the machine asks for.
func desiredOf(ctx context.Context, owners *owner.Memo, made *clusterv1.Machine, machine *infrav1.ElementalMachine) (desired, error) {
	if made == nil {
		return desired{os: machine.Spec.OSVersionManagement}, nil
	}
	want, found, err := owners.WantsOS(ctx, made)
	if err != nil {
		return desired{}, fmt.Errorf("reading what the owner of Machine %s wants: %w", made.Name, err)
	}
	if !found {
		return desired{os: machine.Spec.OSVersionManagement}, nil
	}
	return desired{os: want.OSVersionManagement, pinned: want.Template.Annotations[infrav1.RolloutDigestAnnotation]}, nil
}
