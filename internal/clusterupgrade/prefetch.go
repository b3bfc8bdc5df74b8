// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"fmt"
	"slices"

	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// MaxFetching is how many hosts of a Cluster fetch an image at a time: their registry and their network serve others, too.
const MaxFetching = 10

// Fetch is how far the hosts of an upgrade are with its image.
type Fetch struct {
	// Nodes that are to have the image, and how many of them have it.
	Nodes, Fetched int
	// Message is what the stage waits for; empty if it is done.
	Message string
	// Without names the nodes whose hosts fetch the image when their upgrade starts; empty if there are none.
	Without string
}

// Digest that all nodes of an upgrade get; empty until a host has resolved its image. One that another image was resolved to does not
// count: whoever removes what a ManagedOSVersion was looked up to has it looked up again.
func Digest(upgrade *infrav1.ElementalClusterUpgrade) string {
	return rollout.PinnedDigest(upgrade.Annotations[infrav1.ResolvedDigestAnnotation], Image(upgrade))
}

// Resolved is the digest of a node which runs the image already or, before, that the first host has resolved it to; empty if there is none. A tag may have moved
// since a node was upgraded: all nodes get the same. Hosts are those of the Cluster, by name.
func (p *Plan) Resolved(hosts map[string]*infrav1.ElementalHost) string {
	for _, digestOf := range []func(Member, *infrav1.ElementalHost) string{p.running, resolvedBy} {
		for _, member := range p.Members() {
			if found := digestOf(member, hosts[hostOf(member)]); found != "" {
				return found
			}
		}
	}
	return ""
}

// running is the digest that the host of a node which is done runs.
func (p *Plan) running(member Member, host *infrav1.ElementalHost) string {
	if host == nil || member.State != Done || !osversion.SameImage(host.Status.OS.ImageURI, Image(p.Upgrade)) {
		return ""
	}
	return host.Status.OS.Digest
}

// resolvedBy the host of an attempt in progress.
func resolvedBy(member Member, _ *infrav1.ElementalHost) string {
	if attempt := member.inProgress(); attempt != nil {
		return attempt.Status.Digest
	}
	return ""
}

// inProgress is the attempt of a member that has not ended; nil if there is none.
func (m Member) inProgress() *infrav1.ElementalHostUpgrade {
	if m.Attempt == nil || m.Attempt.PhaseNow().IsEnd() {
		return nil
	}
	return m.Attempt
}

func hostOf(member Member) string {
	if member.Elemental == nil || member.Elemental.Spec.HostRef == nil {
		return ""
	}
	return member.Elemental.Spec.HostRef.Name
}

// fetchState of a member.
type fetchState int

const (
	// unrequested has no attempt yet.
	unrequested fetchState = iota
	// fetching has one, and nothing but its turn keeps its host from the image.
	fetching
	// held does not continue; it is said why.
	held
	// fetched has the image, runs it, or will not be upgraded.
	fetched
	// postponed has an attempt when Cluster API starts the update of its Machine, or when a user ends a pause or lists the hooks of Rancher's drains.
	postponed
)

func fetchStateOf(member Member) (fetchState, string) {
	attempt := member.inProgress()
	switch {
	case member.State != Waiting:
		return fetched, ""
	case attempt != nil && attempts.HasFetched(attempt):
		return fetched, ""
	case member.isPostponed(), attempt == nil && member.lacksHooks():
		return postponed, ""
	case attempt == nil && member.cannotBeRequested() != "":
		return held, member.cannotBeRequested()
	case attempt == nil:
		return unrequested, ""
	case attempts.FirstHold(attempt) != nil && attempts.AwaitedTurn(attempt) == "":
		return held, fmt.Sprintf("node %s: %s", member.Node(), attempt.Status.Message)
	}
	return fetching, ""
}

// isPostponed reports whether Cluster API starts the update of a member, by a topology or since its owner refers to another template, or a user has paused it.
func (m Member) isPostponed() bool {
	isPaused := annotations.HasPaused(m.Machine) || m.Elemental != nil && annotations.HasPaused(m.Elemental)
	if m.Template == nil {
		return isPaused
	}
	isMoved := m.Elemental != nil && (owner.IsUpdating(m.Machine) || owner.MadeFrom(m.Elemental) != "" && owner.MadeFrom(m.Elemental) != m.Template.Name)
	return isPaused || isMoved || IsOfTopology(m.Template) || annotations.HasPaused(m.Template)
}

// lacksHooks reports whether Rancher does not ask for the upgrade of a member's host, so that it has no attempt.
func (m Member) lacksHooks() bool {
	return m.Template != nil && conditions.IsTrue(m.Template, infrav1.RolloutBlockedCondition) &&
		conditions.GetReason(m.Template, infrav1.RolloutBlockedCondition) == infrav1.DrainHooksMissingReason
}

// WillResolve reports whether the host of a node of a template is to resolve the image.
func (p *Plan) WillResolve(template *infrav1.ElementalMachineTemplate) bool {
	return slices.ContainsFunc(p.Members(), func(member Member) bool {
		state, _ := fetchStateOf(member)
		return member.State != Done && member.Template != nil && member.Template.Name == template.Name && state != postponed && state != fetched
	})
}

// Fetch reports how far the hosts are with the image. A node fetches it in its attempt. One that is postponed is not waited for.
func (p *Plan) Fetch() Fetch {
	named, reasons := map[fetchState][]string{}, []string{}
	for _, member := range p.Members() {
		if member.State == Done {
			continue
		}
		state, why := fetchStateOf(member)
		named[state] = append(named[state], member.Node())
		if state == held {
			reasons = append(reasons, why)
		}
	}
	found := Fetch{Fetched: len(named[fetched])}
	found.Nodes = found.Fetched + len(named[held]) + len(named[fetching]) + len(named[unrequested])
	switch {
	case found.Fetched == found.Nodes:
	case len(reasons) > 0:
		found.Message = shortened(reasons)
	case len(named[fetching]) > 0:
		found.Message = fmt.Sprintf("%d of %d nodes have the image; fetching it: %s", found.Fetched, found.Nodes, Named(named[fetching]))
	default:
		found.Message = fmt.Sprintf("%d of %d nodes have the image; waiting for an ElementalHostUpgrade of %s", found.Fetched, found.Nodes, Named(named[unrequested]))
	}
	if len(named[postponed]) > 0 {
		found.Without = "the hosts of " + Named(named[postponed]) + " fetch the image when they have an ElementalHostUpgrade: Cluster API starts it, it is paused, or Rancher asks no hooks"
	}
	return found
}
