// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

// MaxFetching is how many hosts fetch the image at a time: their registry and their network serve others, too.
const MaxFetching = 10

// Fetch is what stage Prefetch is about to do, and how far it is.
type Fetch struct {
	// Order are the members whose hosts are ordered to fetch the image now.
	Order []Member
	// Ordered are those whose hosts are ordered to, and do not have it yet.
	Ordered []Member
	// Digest that the first host has resolved the image to; empty before.
	Digest string
	// Nodes that are to have the image, and how many of them have it.
	Nodes, Fetched int
	// Message is what the stage waits for; empty if it is done.
	Message string
	// Without names the nodes whose agents do not fetch ahead; empty if there are none.
	Without string
}

// fetchState of a member.
type fetchState int

const (
	// toFetch has not been ordered.
	toFetch fetchState = iota
	// fetching has been ordered, and nothing is known to be wrong with it.
	fetching
	// silent has been ordered, and its agent has not answered.
	silent
	// stuck does not get on; it is said why.
	stuck
	// fetched has the image, or runs it.
	fetched
	// unable has an agent that does not know orders.
	unable
)

// OrderID identifies the orders of an upgrade's image. It stays the same when "clusterctl move" recreates the upgrade, and is another one for
// another image: what a host reports of an order is about the image that it was first given for it.
func OrderID(upgrade *infrav1.ElementalClusterUpgrade) string {
	image := sha256.Sum256([]byte(Image(upgrade)))
	return fmt.Sprintf("%s/%s/%x", shortName(upgrade.Name), createdAt(upgrade).UTC().Format(time.RFC3339), image[:4])
}

// shortName bounds the length of an id.
func shortName(name string) string { return name[:min(len(name), 200)] }

// IsOrderOf reports whether an image order is for the image of an upgrade.
func IsOrderOf(upgrade *infrav1.ElementalClusterUpgrade, order *infrav1.HostPrefetch) bool {
	return order != nil && Image(upgrade) != "" && osversion.SameImage(order.ImageURI, Image(upgrade))
}

// Digest that all nodes of an upgrade get; empty until a host has resolved its image. One that another image was resolved to does not
// count: whoever removes what a ManagedOSVersion was looked up to has it looked up again.
func Digest(upgrade *infrav1.ElementalClusterUpgrade) string {
	return rollout.PinnedDigest(upgrade.Annotations[infrav1.ResolvedDigestAnnotation], Image(upgrade))
}

// Prefetch decides what stage Prefetch does next. Hosts are those of the Cluster, by name. Until a host has resolved the image one is ordered at a
// time, so that no two can resolve a tag differently; a host that does not get on keeps no other from being ordered.
func (p *Plan) Prefetch(hosts map[string]*infrav1.ElementalHost) Fetch {
	found, told, active := Fetch{Digest: p.resolved(hosts)}, fetchTold{}, 0
	for _, member := range p.Members() {
		if member.State == Done {
			continue
		}
		host := hosts[hostOf(member)]
		state, why := p.fetchStateOf(member, host)
		if p.isAwaited(state, host) {
			found.Ordered = append(found.Ordered, member)
			active += p.counts(state, host)
		}
		switch state {
		case unable:
			told.without = append(told.without, member.Node())
			continue
		case toFetch:
			found.Order = append(found.Order, member)
		case fetching:
			told.fetching = append(told.fetching, member.Node())
		case silent:
			told.silent = append(told.silent, member.Node())
		case stuck:
			told.stuck = append(told.stuck, why)
		case fetched:
			found.Fetched++
		}
		found.Nodes++
	}
	most := MaxFetching
	if Digest(p.Upgrade) == "" {
		most = 1
	}
	found.Order = found.Order[:min(len(found.Order), max(0, most-active))]
	found.Message, found.Without = told.message(found), told.oldAgents()
	return found
}

// isAwaited reports whether a host has been ordered to fetch the image, and does not have it.
func (p *Plan) isAwaited(state fetchState, host *infrav1.ElementalHost) bool {
	return slices.Contains([]fetchState{fetching, silent, stuck}, state) && host != nil && p.isOrdered(host)
}

// counts is what a host counts for the limit: nothing if it is stuck, but one if it waits for its registry while no digest is known. It may get
// through at any moment, and another one at the next.
func (p *Plan) counts(state fetchState, host *infrav1.ElementalHost) int {
	report := host.Status.Prefetch
	mayResolve := Digest(p.Upgrade) == "" && report != nil && report.ID == OrderID(p.Upgrade) && report.Phase == infrav1.HostUpgradeFetching
	if state == stuck && !mayResolve {
		return 0
	}
	return 1
}

// resolved is the digest that is recorded or, before, that of a node which runs the image already, or that the first host has resolved the image
// to; empty if there is none.
func (p *Plan) resolved(hosts map[string]*infrav1.ElementalHost) string {
	found := Digest(p.Upgrade)
	for _, digestOf := range []func(Member, *infrav1.ElementalHost) string{p.running, p.reported} {
		for _, member := range p.Members() {
			if host := hosts[hostOf(member)]; host != nil && found == "" {
				found = digestOf(member, host)
			}
		}
	}
	return found
}

// running is the digest that the host of a node which is done runs. A tag may have moved since: all nodes get the same.
func (p *Plan) running(member Member, host *infrav1.ElementalHost) string {
	if member.State != Done || !osversion.SameImage(host.Status.OS.ImageURI, Image(p.Upgrade)) {
		return ""
	}
	return host.Status.OS.Digest
}

// fetchTold are the nodes that messages name.
type fetchTold struct{ stuck, silent, fetching, without []string }

func (t fetchTold) message(found Fetch) string {
	switch {
	case found.Fetched == found.Nodes:
		return ""
	case len(t.stuck) > 0:
		return shortened(t.stuck)
	case len(t.silent) > 0:
		return fmt.Sprintf("%d of %d nodes have the image; waiting for the agents of %s to begin to fetch it: they have to run, and to reach the Elemental API",
			found.Fetched, found.Nodes, Named(t.silent))
	case len(t.fetching) > 0:
		return fmt.Sprintf("%d of %d nodes have the image; fetching it: %s", found.Fetched, found.Nodes, Named(t.fetching))
	}
	return fmt.Sprintf("%d of %d nodes have the image; the others are ordered to fetch it", found.Fetched, found.Nodes)
}

func (t fetchTold) oldAgents() string {
	if len(t.without) == 0 {
		return ""
	}
	return "the agents of " + Named(t.without) + " do not fetch ahead: their images are fetched when their turn comes"
}

// Named are the first of some names.
func Named(names []string) string {
	if len(names) > maxNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
	}
	return strings.Join(names, ", ")
}

func hostOf(member Member) string {
	if member.Elemental == nil || member.Elemental.Spec.HostRef == nil {
		return ""
	}
	return member.Elemental.Spec.HostRef.Name
}

// reported is the digest that a host has resolved the image to for an order of the upgrade.
func (p *Plan) reported(_ Member, host *infrav1.ElementalHost) string {
	if !p.isOrdered(host) || host.Status.Prefetch == nil || host.Status.Prefetch.ID != OrderID(p.Upgrade) {
		return ""
	}
	return host.Status.Prefetch.Digest
}

func (p *Plan) isOrdered(host *infrav1.ElementalHost) bool {
	return host.Spec.Prefetch != nil && host.Spec.Prefetch.ID == OrderID(p.Upgrade) && host.Spec.Prefetch.Digest == Digest(p.Upgrade)
}

// fetchStateOf a member that does not run the OS, and why it does not get on.
func (p *Plan) fetchStateOf(member Member, host *infrav1.ElementalHost) (fetchState, string) {
	node := "node " + member.Node()
	switch {
	case host == nil:
		return stuck, node + " has no ElementalHost: see condition " + infrav1.AssociationReadyCondition + " of ElementalMachine " + member.Elemental.Name
	case member.State != Waiting: // its attempt is past fetching, or it will not be upgraded
		return fetched, ""
	case hoststate.Reported(host) && !host.Status.Agent.Prefetches:
		return unable, ""
	case hoststate.Reported(host) && p.has(host):
		return fetched, ""
	case isNotReady(member):
		return p.stuckUnlessNew(host), fmt.Sprintf("%s is not ready: ElementalHost %s has to be up to fetch the image", node, host.Name)
	case !p.isOrdered(host):
		return toFetch, ""
	}
	return p.answerOf(node, host)
}

// answerOf a host to its order.
func (p *Plan) answerOf(node string, host *infrav1.ElementalHost) (fetchState, string) {
	report := host.Status.Prefetch
	switch {
	case report == nil || report.ID != OrderID(p.Upgrade):
		return silent, ""
	case report.Message != "":
		return stuck, fmt.Sprintf("%s does not have the image: ElementalHost %s says: %s. Fix that: it tries again", node, host.Name, report.Message)
	}
	return fetching, ""
}

// stuckUnlessNew has a host that is down ordered nevertheless: it fetches when it is up.
func (p *Plan) stuckUnlessNew(host *infrav1.ElementalHost) fetchState {
	if p.isOrdered(host) || Digest(p.Upgrade) == "" {
		return stuck
	}
	return toFetch
}

// has reports whether a host has fetched the image for its order.
func (p *Plan) has(host *infrav1.ElementalHost) bool {
	report := host.Status.Prefetch
	return p.isOrdered(host) && report != nil && report.ID == OrderID(p.Upgrade) && report.Phase == infrav1.HostUpgradeFetched &&
		Digest(p.Upgrade) != "" && report.Digest == Digest(p.Upgrade)
}

func isNotReady(member Member) bool {
	ready := conditions.Get(member.Machine, clusterv1.MachineNodeReadyCondition)
	return ready != nil && ready.Status != metav1.ConditionTrue
}
