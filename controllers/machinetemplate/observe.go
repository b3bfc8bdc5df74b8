// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate

import (
	"context"
	"maps"
	"slices"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// position of an owner towards the content of its template.
type position int

const (
	// current: the owner refers to this very content.
	current position = iota
	// pending: the owner has to be pointed to a clone.
	pending
	// reverted: somebody turned the owner back to the template after it had been pointed to a clone. It
	// is never pointed there twice.
	reverted
	// managed: the owner would be pending, but its reference belongs to the topology controller.
	managed
)

// placed is an owner with its position.
type placed struct {
	owner.Owner
	position position
	// clone is the one that carries the template's content to this owner.
	clone string
	// failed is why it could not be looked at.
	failed error
}

// observation is all that a decision depends on.
type observation struct {
	template *infrav1.ElementalMachineTemplate
	// hash of the template's content.
	hash string
	// outdated is whether Machines were made from the template itself before it was changed.
	outdated bool
	// clones of the template by name, whatever their content. They are the cache's own, and must not be changed.
	clones map[string]*infrav1.ElementalMachineTemplate
	// concerned are the owners that the template or one of its clones concerns.
	concerned []owner.Owner
	// owners that refer to the template or one of its clones.
	owners []placed
	// others are Machines whose owners are not rolled out by a reference.
	others others
	// views of the Clusters of owners, by name; see viewOf.
	views map[string]*clusterview.View
	// left are the Machines that do not run the OS, by Cluster.
	left map[string]left
	// failed is what could not be written, and keeps no owner from being moved.
	failed error
	// moves says that owners are to be moved, and nothing stands against it.
	moves bool
	// waits are what owners wait for.
	waits []waiting
	// under are the owners whose rollout has not ended, where none is to be moved.
	under []placed
}

// isOfFamily reports whether a name is that of the template or of one of its clones.
func (o *observation) isOfFamily(name string) bool {
	return name == o.template.Name || o.clones[name] != nil
}

// at returns the owners at a position.
func (o *observation) at(wanted position) []placed {
	found := []placed{}
	for _, candidate := range o.owners {
		if candidate.position == wanted {
			found = append(found, candidate)
		}
	}
	return found
}

func (r *Reconciler) observe(ctx context.Context, template *infrav1.ElementalMachineTemplate) (*observation, error) {
	hash, err := rollout.ContentHash(template)
	if err != nil {
		return nil, err
	}
	seen := &observation{template: template, hash: hash, clones: map[string]*infrav1.ElementalMachineTemplate{}}
	family, err := clusterview.Family(ctx, r.Client, template.Namespace, sourceLabel(template))
	if err != nil {
		return nil, err
	}
	for i := range family {
		if rollout.IsClone(&family[i]) {
			seen.clones[family[i].Name] = &family[i]
		}
	}
	names := append(slices.Collect(maps.Keys(seen.clones)), template.Name)
	if seen.concerned, err = r.Owners.List(ctx, template.Namespace, names...); err != nil {
		return nil, err
	}
	if seen.outdated, err = r.hasOutdatedMachines(ctx, seen); err != nil {
		return nil, err
	}
	if err := r.observeOthers(ctx, seen); err != nil {
		return nil, err
	}
	return seen, r.place(ctx, seen)
}

// place finds the template's owners among those it concerns, and their positions. Those whose Machines driver Direct upgrades keep
// their reference.
func (r *Reconciler) place(ctx context.Context, o *observation) error {
	for _, candidate := range o.concerned {
		name := owner.TemplateName(candidate)
		if !o.isOfFamily(name) || !candidate.Object().GetDeletionTimestamp().IsZero() {
			continue
		}
		isDirect, err := r.isDirect(ctx, o, candidate)
		if err != nil {
			return err
		}
		if isDirect {
			continue
		}
		where, err := o.positionOf(candidate)
		if err != nil {
			return err
		}
		o.owners = append(o.owners, placed{Owner: candidate, position: where, clone: o.cloneFor(candidate)})
	}
	return nil
}

func (o *observation) cloneFor(candidate owner.Owner) string {
	return o.cloneIn(candidate.ClusterName())
}

// cloneIn is the name of the clone that carries the template's content to the Machines of a Cluster.
func (o *observation) cloneIn(cluster string) string {
	content := rollout.Content{Template: o.template.Name, UID: o.template.UID, Generation: o.template.Generation}
	if pin := osversion.PinOf(o.template); pin != nil {
		content.LookedUp = pin.ResourceVersion
	}
	return rollout.CloneName(content, cluster)
}

func (o *observation) positionOf(candidate owner.Owner) (position, error) {
	behind, err := o.isBehind(candidate)
	if err != nil {
		return current, err
	}
	pointedTo := candidate.Object().GetAnnotations()[infrav1.RolloutCloneAnnotation]
	name, clone := owner.TemplateName(candidate), o.cloneFor(candidate)
	turnedBack := name == o.template.Name && o.clones[pointedTo] != nil || pointedTo == clone && name != clone
	switch {
	case turnedBack && (!behind || pointedTo == clone):
		return reverted, nil
	case behind && owner.IsTopologyOwned(candidate):
		return managed, nil
	case behind:
		return pending, nil
	}
	return current, nil
}

// isBehind reports whether an owner's Machines were made from another content than the template has now.
func (o *observation) isBehind(candidate owner.Owner) (bool, error) {
	clone := o.clones[owner.TemplateName(candidate)]
	if clone == nil {
		return o.outdated, nil
	}
	hash, err := rollout.ContentHash(clone)
	return hash != o.hash, err
}

// hasOutdatedMachines reports whether Machines were made from the template before it was changed. The hash
// alone does not tell: a template may be changed before its first Machine is made, or come from another
// management cluster, or from the predecessor of this provider. A Machine that driver Direct has brought to the content, or first seen
// it with, merely differs: whoever is given its owner next has nothing to roll out. One that it has brought to another content, or left on the way there, is
// outdated whatever Cluster API has rolled out before.
func (r *Reconciler) hasOutdatedMachines(ctx context.Context, seen *observation) (bool, error) {
	template := seen.template
	recorded, known := template.Annotations[infrav1.RolledOutHashAnnotation]
	isChanged := recorded != seen.hash && (known || template.Generation != 1)
	machines, err := clusterview.MadeFrom(ctx, r.Client, template.Namespace, template.Name)
	wanted := osversion.OfTemplate(template)
	return slices.ContainsFunc(machines, func(machine infrav1.ElementalMachine) bool {
		noted := machine.Annotations[infrav1.DirectOSAnnotation]
		return !osversion.Same(machine.Spec.OSVersionManagement, wanted) && noted != osversion.Hash(wanted) && (isChanged || noted != "")
	}), err
}
