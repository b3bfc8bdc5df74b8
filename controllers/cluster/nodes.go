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
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
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
	// attempt is the newest on the node; see attemptOn. Nil if there is none.
	attempt *infrav1.ElementalHostUpgrade
}

// observeNodes returns the nodes of a cluster, by name. A machine is a node once a host serves it.
func (r *Reconciler) observeNodes(ctx context.Context, view *clusterview.View) ([]node, error) {
	machines, err := view.ElementalMachines(ctx)
	if err != nil {
		return nil, err
	}
	nodes := make([]node, 0, len(machines))
	for i := range machines {
		machine := &machines[i]
		if machine.Spec.HostRef == nil || !machine.DeletionTimestamp.IsZero() {
			continue
		}
		found, err := observeNode(ctx, view, machine)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, found)
	}
	slices.SortFunc(nodes, func(a, b node) int { return cmp.Compare(a.name, b.name) })
	return nodes, nil
}

func observeNode(ctx context.Context, view *clusterview.View, machine *infrav1.ElementalMachine) (node, error) {
	found := node{name: machine.Spec.HostRef.Name, pool: pausing.Pool(machine.Labels), drifted: conditions.IsTrue(machine, infrav1.OSDriftedCondition)}
	made, err := view.MachineOf(ctx, machine)
	if err != nil {
		return node{}, err
	}
	if made != nil && made.Status.NodeRef.IsDefined() {
		found.name = made.Status.NodeRef.Name
	}
	wanted, err := desiredOf(ctx, view, made, machine)
	if err != nil {
		return node{}, err
	}
	found.target = wanted.target()
	host, err := view.Host(ctx, machine.Spec.HostRef.Name)
	if err != nil {
		return node{}, err
	}
	found.onTarget = host != nil && runs(host, wanted)
	if found.onTarget {
		found.target.digest = cmp.Or(host.Status.OS.Digest, found.target.digest)
	}
	found.attempt, err = attemptOn(ctx, view, machine.Name, found.onTarget)
	return found, err
}

// attemptOn a machine that says something of its node: the one that has not ended, or how the last one ended, where the node
// does not run what it is to run.
func attemptOn(ctx context.Context, view *clusterview.View, machine string, onTarget bool) (*infrav1.ElementalHostUpgrade, error) {
	unfinished, err := view.UnfinishedOn(ctx, machine)
	if err != nil || unfinished != nil || onTarget {
		return unfinished, err
	}
	return view.NewestAttempt(ctx, machine)
}

// runs reports whether a host runs what is wanted of it: the digest that the rollout is pinned to, or the image.
// The first alone would never be true of a host that was added after the image's tag had moved: the pin is
// for those whose turn comes in a rollout, and nothing brings a node to another digest of its image.
func runs(host *infrav1.ElementalHost, wanted desired) bool {
	if wanted.missing != "" {
		return false
	}
	if wanted.pinned != "" && host.Status.OS.Digest == wanted.pinned {
		return true
	}
	return wanted.os.RunsOn(host) == hoststate.MatchSame
}

// desired is the OS that a machine is to run in the end.
type desired struct {
	os hoststate.Wanted
	// pinned is the digest that the rollout is pinned to; empty until it is.
	pinned string
	// missing is the ElementalMachineTemplate that says which OS is wanted and does not exist; empty if there is none.
	missing string
}

// target of nodes whose image is not known is the template that is missing, or the ManagedOSVersion that has not been looked up.
func (d desired) target() target {
	if d.missing != "" {
		return target{image: "ElementalMachineTemplate " + d.missing + ", which does not exist"}
	}
	if name := osversion.Unresolved(d.os.Management); name != "" {
		return target{image: "ManagedOSVersion " + name}
	}
	_, asked, _ := strings.Cut(d.os.Version.ImageURI, "@")
	return target{image: d.os.Version.ImageURI, digest: cmp.Or(d.pinned, asked)}
}

// desiredOf a machine is what its owner's template asks for by now, which in the middle of a rollout is not yet
// in the machine; without such an owner it is what the machine asks for.
func desiredOf(ctx context.Context, view *clusterview.View, made *clusterv1.Machine, machine *infrav1.ElementalMachine) (desired, error) {
	if made == nil {
		return desired{os: hoststate.Decode(machine.Spec.OSVersionManagement)}, nil
	}
	want, found, err := view.WantsOS(ctx, made)
	if err != nil {
		return desired{}, fmt.Errorf("reading what the owner of Machine %s wants: %w", made.Name, err)
	}
	if !found {
		return desired{os: hoststate.Decode(machine.Spec.OSVersionManagement), missing: want.MissingTemplate()}, nil
	}
	wanted := desired{os: want.OS}
	current, err := view.CurrentRollout(ctx, want.Template)
	if current != nil {
		wanted.pinned = current.Spec.ImageDigest
	}
	return wanted, err
}
