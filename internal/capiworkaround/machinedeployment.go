// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package capiworkaround

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// pool is a MachineDeployment with its MachineSets, and the Machines that it had a moment later.
type pool struct {
	*clusterv1.MachineDeployment
	sets     []clusterv1.MachineSet
	machines []metav1.PartialObjectMetadata
	owners   *owner.Owners
	// recent has those of the MachineDeployment and its MachineSets that were written recently. All are looked at in each judgement: the age of
	// one that is looked at later than another would count from then.
	recent map[types.UID]bool
}

func judgeMachineDeployment(ctx context.Context, owners *owner.Owners, md *clusterv1.MachineDeployment) (Verdict, error) {
	p := &pool{MachineDeployment: md, owners: owners}
	var err error
	if p.sets, err = owners.MachineSets(ctx, md); err != nil {
		return Verdict{}, err
	}
	if p.machines, err = owners.MachineMetadata(ctx, p.owner()); err != nil {
		return Verdict{}, err
	}
	p.recent = map[types.UID]bool{md.UID: writtenRecently(owners, md)}
	for i := range p.sets {
		p.recent[p.sets[i].UID] = writtenRecently(owners, &p.sets[i])
	}
	return Verdict{NotQuiet: p.notQuiet(), Between: p.between(), returns: p.halfRolledOut()}, nil
}

func (p *pool) owner() owner.Owner { return owner.ForMachineDeployment(p.MachineDeployment) }

func (p *pool) notQuiet() string {
	if reason := unobserved(p.owners, p.owner(), p.Status.ObservedGeneration); reason != "" {
		return reason
	}
	for i := range p.sets {
		if reason := p.setNotQuiet(&p.sets[i]); reason != "" {
			return reason
		}
	}
	if moving := withAnnotation(p.machines, clusterv1.PendingAcknowledgeMoveAnnotation); len(moving) > 0 {
		return fmt.Sprintf("Machine %s is being moved to another MachineSet", strings.Join(moving, ", "))
	}
	return ""
}

func (p *pool) setNotQuiet(set *clusterv1.MachineSet) string {
	wanted, present := ptr.Deref(set.Spec.Replicas, 0), ptr.Deref(set.Status.Replicas, 0)
	staying := p.remaining(set)
	switch {
	case staying > wanted:
		return fmt.Sprintf("MachineSet %s has %d Machines and is to have %d", set.Name, staying, wanted)
	case present < wanted && p.recent[set.UID]:
		return fmt.Sprintf("MachineSet %s is growing to %d Machines", set.Name, wanted)
	case set.Status.ObservedGeneration != set.Generation && p.recent[set.UID]:
		return fmt.Sprintf("MachineSet %s was changed and has not been acted on yet", set.Name)
	}
	return ""
}

func (p *pool) between() string {
	behind := slices.IndexFunc(p.sets, func(set clusterv1.MachineSet) bool {
		has := ptr.Deref(set.Spec.Replicas, 0) > 0 || p.remaining(&set) > 0
		return has && set.Spec.Template.Spec.InfrastructureRef != p.Spec.Template.Spec.InfrastructureRef
	})
	if behind < 0 || !p.goesOn() || len(p.updating()) >= p.atOnce() {
		return ""
	}
	return fmt.Sprintf("%s is in the middle of a rollout, and Cluster API is about to take the next Machine from MachineSet %s",
		owner.Describe(p.owner()), p.sets[behind].Name)
}

// goesOn reports whether Cluster API has written to the MachineDeployment or one of its MachineSets of late.
func (p *pool) goesOn() bool { return slices.Contains(slices.Collect(maps.Values(p.recent)), true) }

// atOnce is how many Machines Cluster API updates at the same time: maxUnavailable, at least one.
func (p *pool) atOnce() int {
	unavailable := p.Spec.Rollout.Strategy.RollingUpdate.MaxUnavailable
	resolved, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(unavailable, intstr.FromInt32(0)), int(ptr.Deref(p.Spec.Replicas, 0)), false)
	if err != nil { // the API server validates it
		return 1
	}
	return max(1, resolved)
}

// halfRolledOut are the templates whose MachineSet has some of the Machines. Cluster API may take a Machine from it at any
// moment, and that Machine would be deleted if the set became the current one just then. While a Machine is being updated
// nothing is taken, and to return is safe.
func (p *pool) halfRolledOut() map[string]string {
	if len(p.updating()) > 0 {
		return nil
	}
	half, all := map[string]string{}, ptr.Deref(p.Spec.Replicas, 0)
	for i := range p.sets {
		template, replicas := p.sets[i].Spec.Template.Spec.InfrastructureRef.Name, p.remaining(&p.sets[i])
		if replicas > 0 && replicas < all {
			half[template] = fmt.Sprintf("MachineSet %s of ElementalMachineTemplate %s is half rolled out (%d of %d Machines)",
				p.sets[i].Name, template, replicas, all)
		}
	}
	return half
}

func (p *pool) updating() []string {
	return withAnnotation(p.machines, clusterv1.UpdateInProgressAnnotation)
}

// remaining is how many Machines a MachineSet has that are not being deleted: by its status, or by those
// that were found where the status is older.
func (p *pool) remaining(set *clusterv1.MachineSet) int32 {
	var living, leaving int32
	for i := range p.machines {
		switch {
		case !metav1.IsControlledBy(&p.machines[i], set):
		case p.machines[i].DeletionTimestamp.IsZero():
			living++
		default:
			leaving++
		}
	}
	return max(living, ptr.Deref(set.Status.Replicas, 0)-leaving)
}

// withAnnotation returns the names of the objects that carry an annotation and are not being deleted,
// sorted.
func withAnnotation(objects []metav1.PartialObjectMetadata, annotation string) []string {
	names := []string{}
	for i := range objects {
		if metav1.HasAnnotation(objects[i].ObjectMeta, annotation) && objects[i].DeletionTimestamp.IsZero() {
			names = append(names, objects[i].Name)
		}
	}
	slices.Sort(names)
	return names
}
