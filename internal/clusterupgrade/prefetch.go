// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterupgrade

import (
	"fmt"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
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

// Resolved is the digest that is recorded or, before, that of a node which runs the image already, or that the first host has resolved the image
// to; empty if there is none. A tag may have moved since a node was upgraded: all nodes get the same. Hosts are those of the Cluster, by name.
func (p *Plan) Resolved(hosts map[string]*infrav1.ElementalHost) string {
	if known := Digest(p.Upgrade); known != "" {
		return known
	}
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

// resolvedBy the host of an attempt that has not ended.
func resolvedBy(member Member, _ *infrav1.ElementalHost) string {
	if member.Attempt == nil || member.Attempt.PhaseNow().IsEnd() {
		return ""
	}
	return member.Attempt.Status.Digest
}

func hostOf(member Member) string {
	if member.Elemental == nil || member.Elemental.Spec.HostRef == nil {
		return ""
	}
	return member.Elemental.Spec.HostRef.Name
}

// Fetch reports how far the hosts are with the image. A node fetches it in its attempt. One that Cluster API or Rancher starts has none yet, and is not waited for.
func (p *Plan) Fetch() Fetch {
	found, held, fetching, later, without := Fetch{}, []string{}, []string{}, []string{}, []string{}
	for _, member := range p.Members() {
		switch attempt := member.Attempt; {
		case member.State == Done:
			continue
		case member.State != Waiting: // its attempt is past fetching, or it will not be upgraded
			found.Fetched++
		case attempt == nil && (p.RancherDrains || member.Template != nil && IsOfTopology(member.Template)):
			without = append(without, member.Node())
			continue
		case attempt == nil && member.cannotBeRequested() != "":
			held = append(held, member.cannotBeRequested())
		case attempt == nil:
			later = append(later, member.Node())
		case attempts.HasFetched(attempt):
			found.Fetched++
		case attempts.FirstHold(attempt) != nil && attempts.AwaitedTurn(attempt) == "":
			held = append(held, fmt.Sprintf("node %s: %s", member.Node(), attempt.Status.Message))
		default:
			fetching = append(fetching, member.Node())
		}
		found.Nodes++
	}
	switch {
	case found.Fetched == found.Nodes:
	case len(held) > 0:
		found.Message = shortened(held)
	case len(fetching) > 0:
		found.Message = fmt.Sprintf("%d of %d nodes have the image; fetching it: %s", found.Fetched, found.Nodes, Named(fetching))
	default:
		found.Message = fmt.Sprintf("%d of %d nodes have the image; waiting for an ElementalHostUpgrade of %s", found.Fetched, found.Nodes, Named(later))
	}
	if len(without) > 0 {
		found.Without = "the hosts of " + Named(without) + " fetch the image when their upgrade starts"
	}
	return found
}
