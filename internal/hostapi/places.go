// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/association"
)

const (
	// placeRetry is when to retry after a registration was full: an operator has to act first.
	placeRetry = time.Minute
	// unseenLife is how long a host counts that was created here and is not in the cache. Otherwise one that was deleted before the cache
	// showed it would count for ever.
	unseenLife = time.Minute
)

// places counts the hosts of registrations with spec.maxHosts or spec.maxPending: those in the cache, and those that this replica created
// and the cache does not show yet. Hosts created by other replicas count once the cache shows them, so each additional replica can exceed a
// limit by the hosts that it admits in that time.
type places struct {
	cached client.Reader
	clock  clock.PassiveClock

	mu     sync.Mutex
	unseen map[types.NamespacedName]map[string]unseen // by registration and host
}

type unseen struct {
	since time.Time
	// requests in progress: of several for the same name, any may have created the host.
	requests int
	approved bool
}

// taken is the number of hosts of a registration.
type taken struct{ hosts, pending int32 }

func (t *taken) add(approved bool) {
	t.hosts++
	if !approved {
		t.pending++
	}
}

func newPlaces(cached client.Reader, clock clock.PassiveClock) *places {
	return &places{cached: cached, clock: clock, unseen: map[types.NamespacedName]map[string]unseen{}}
}

// enter reserves a place for a host that is about to be created, or refuses it for now. Of one registration it is called by
// one at a time: see share.
func (p *places) enter(ctx context.Context, registration *infrav1.ElementalRegistration, host *infrav1.ElementalHost) error {
	spec := registration.Spec
	if spec.MaxHosts == nil && spec.MaxPending == nil {
		return nil
	}
	found, err := association.RegisteredHosts(ctx, p.cached, registration)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.count(found, registration)
	if spec.MaxHosts != nil && now.hosts >= *spec.MaxHosts {
		return refuseTooMany(refusedMaxHosts, placeRetry, "registration %s has %d hosts and its spec.maxHosts is %d: "+
			"an operator has to delete ElementalHosts or raise it", registration.Name, now.hosts, *spec.MaxHosts)
	}
	if !host.Spec.Approved && spec.MaxPending != nil && now.pending >= *spec.MaxPending {
		return refuseTooMany(refusedMaxPending, placeRetry, "registration %s has %d unapproved hosts and its spec.maxPending is %d: "+
			"an operator has to approve or delete some, or raise it", registration.Name, now.pending, *spec.MaxPending)
	}
	key := client.ObjectKeyFromObject(registration)
	if p.unseen[key] == nil {
		p.unseen[key] = map[string]unseen{}
	}
	requests := p.unseen[key][host.Name].requests + 1
	p.unseen[key][host.Name] = unseen{since: p.clock.Now(), requests: requests, approved: host.Spec.Approved}
	return nil
}

// leave frees the place of a host that the request did not create, unless another request has.
func (p *places) leave(host *infrav1.ElementalHost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := cameThrough(host)
	one, found := p.unseen[key][host.Name]
	if one.requests--; found && one.requests > 0 {
		p.unseen[key][host.Name] = one
		return
	}
	if delete(p.unseen[key], host.Name); len(p.unseen[key]) == 0 {
		delete(p.unseen, key)
	}
}

// count the hosts that were found in the cache, and those that are not in it yet.
func (p *places) count(found []infrav1.ElementalHost, registration *infrav1.ElementalRegistration) taken {
	sum, fresh := taken{}, p.unseen[client.ObjectKeyFromObject(registration)]
	for i := range found {
		sum.add(found[i].Spec.Approved)
		delete(fresh, found[i].Name)
	}
	for name, one := range fresh {
		if p.clock.Since(one.since) > unseenLife {
			delete(fresh, name)
			continue
		}
		sum.add(one.approved)
	}
	return sum
}
