// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Limits of what hosts may store. Each replica has its own buckets, and starts with full ones.
const (
	// registerBurst hosts of a registration can register at once, then registerRate per second.
	registerBurst            = 2000
	registerRate  rate.Limit = 1
	// storeBurst bytes are stored at once for the hosts of one registration that are not vouched for, then storeRate bytes per second: 4 MiB
	// an hour.
	storeBurst            = 32 << 20
	storeRate  rate.Limit = (4 << 20) / 3600.0
	// onwardBurst bytes of a host's reports about its progress are stored even if storeBurst is used up, which is more than a host reports
	// between its registration and its Machine, then onwardRate bytes per second: the same again in a day.
	onwardBurst            = 64 << 10
	onwardRate  rate.Limit = onwardBurst / 86400.0
	// reportBurst reports of an approved host are stored at once, then reportRate per second. A repeated registration counts as a report.
	reportBurst            = 120
	reportRate  rate.Limit = 0.1
	// unapprovedEvery is the minimum interval between stored reports of an unapproved host.
	unapprovedEvery = time.Minute
)

// quota limits what hosts may store. What it refuses may be retried.
type quota struct {
	clock         clock.PassiveClock
	registrations *registrations
	registered    *buckets // by registration, of hosts
	stored        *buckets // by registration, of bytes
	onward        *buckets // by host, of bytes
	reported      *buckets // by host, of reports
}

func newQuota(clock clock.PassiveClock, registrations *registrations) *quota {
	return &quota{
		clock: clock, registrations: registrations,
		registered: newBuckets(clock, registerRate, registerBurst),
		stored:     newBuckets(clock, storeRate, storeBurst),
		onward:     newBuckets(clock, onwardRate, onwardBurst),
		reported:   newBuckets(clock, reportRate, reportBurst),
	}
}

// admitHost admits a registration, or refuses it for now. What it stores is charged once it is stored: see owe. Those that are
// being created meanwhile, which are few, may exceed the limit by as much.
func (q *quota) admitHost(host *infrav1.ElementalHost) error {
	registration := cameThrough(host)
	if wait, taken := q.registered.take(registration, 1); !taken {
		return refuseTooMany(refusedRegistrations, wait, "registration %s takes one host a second after %d at once",
			registration.Name, registerBurst)
	}
	size, err := sizeOf(host)
	if err != nil {
		return err
	}
	if wait := q.stored.lacks(registration, size); wait > 0 {
		return refuseBytes(registration, wait)
	}
	return nil
}

// admitRepeat admits a repeated registration, or refuses it for now: each costs a live read. It counts as a report, since neither is needed
// often.
func (q *quota) admitRepeat(host *infrav1.ElementalHost) error {
	if wait, taken := q.reported.take(client.ObjectKeyFromObject(host), 1); !taken {
		return refuseTooMany(refusedRegistrations, wait, "host %s is registered: it may ask for that again, or change its report, once in 10 seconds after %d times at once",
			host.Name, reportBurst)
	}
	return nil
}

// admitReport admits a changed report, or refuses it for now. stored is the host as last stored. Reports about the requested attempt or
// reset are always admitted by it, since rollouts and deletions wait for them. New hosts that make progress do not have to wait for other hosts of
// their registration, since the hosts of a large fleet would be delayed for hours.
func (q *quota) admitReport(ctx context.Context, stored *infrav1.ElementalHost, status infrav1.ElementalHostStatus) error {
	isVouched := q.vouched(ctx, stored)
	passes := advances(stored, status.Upgrade, isVouched) || resets(stored, status.Phase)
	if !passes {
		if err := q.admitRate(stored); err != nil {
			return err
		}
	}
	if isVouched {
		return nil
	}
	next := *stored
	conditions := stored.Status.Conditions
	next.Status = status
	next.Status.Conditions = conditions
	switch {
	case passes:
		return q.owe(&next)
	case movesOn(stored, status):
		return q.admitOnward(&next)
	}
	return q.admitBytes(&next)
}

// owe charges the registration for what is always admitted: a host that is not vouched for may report attempts that it made up.
func (q *quota) owe(host *infrav1.ElementalHost) error {
	size, err := sizeOf(host)
	if err == nil {
		q.stored.owe(cameThrough(host), size)
	}
	return err
}

// admitOnward admits a report for which its host has bytes of its own. The registration is charged as well: nothing else of its hosts is
// stored until that is refilled.
func (q *quota) admitOnward(host *infrav1.ElementalHost) error {
	size, err := sizeOf(host)
	if err != nil {
		return err
	}
	if _, taken := q.onward.take(client.ObjectKeyFromObject(host), size); !taken {
		return q.admitBytes(host)
	}
	q.stored.owe(cameThrough(host), size)
	return nil
}

// admitRate limits an unapproved host by the time of its last stored report, which all replicas know, even after a restart.
func (q *quota) admitRate(stored *infrav1.ElementalHost) error {
	if stored.Spec.Approved {
		if wait, taken := q.reported.take(client.ObjectKeyFromObject(stored), 1); !taken {
			return refuseTooMany(refusedReports, wait, "host %s may change its report once in 10 seconds after %d times at once",
				stored.Name, reportBurst)
		}
		return nil
	}
	// The stored time has whole seconds.
	const most = unapprovedEvery + time.Second
	next := stored.Status.Agent.LastSeen.Add(most)
	// A longer wait is by the clock of another replica, which was ahead.
	if wait := next.Sub(q.clock.Now()); wait > 0 && wait <= most && !stored.Status.Agent.LastSeen.IsZero() {
		return refuseTooMany(refusedUnapproved, wait, "host %s is not approved: what it reports is stored once a minute", stored.Name)
	}
	return nil
}

func (q *quota) admitBytes(host *infrav1.ElementalHost) error {
	size, err := sizeOf(host)
	if err != nil {
		return err
	}
	registration := cameThrough(host)
	if wait, taken := q.stored.take(registration, size); !taken {
		return refuseBytes(registration, wait)
	}
	return nil
}

func refuseBytes(registration types.NamespacedName, wait time.Duration) *failure {
	return refuseTooMany(refusedBytes, wait, "too much data was stored for the hosts of registration %s that no operator has approved and that serve no Machine",
		registration.Name)
}

// vouched reports whether a host is trusted by more than the registration's token: a person has approved it, or it serves a Machine.
func (q *quota) vouched(ctx context.Context, host *infrav1.ElementalHost) bool {
	if !host.Spec.Approved {
		return false
	}
	if host.Spec.MachineRef != nil {
		return true
	}
	registration, err := q.registrations.get(ctx, cameThrough(host))
	// The token is worthless without its registration.
	return err != nil || registration.Spec.Approval != infrav1.ApprovalAuto
}

// sizeOf estimates the size of a host in etcd, in bytes. The API server stores the names of all fields once more, in managedFields.
func sizeOf(host *infrav1.ElementalHost) (int, error) {
	bare := *host
	bare.ManagedFields = nil
	encoded, err := json.Marshal(&bare)
	if err != nil {
		return 0, fmt.Errorf("measuring ElementalHost %s/%s: %w", host.Namespace, host.Name, err)
	}
	return 2 * len(encoded), nil
}

// cameThrough returns the registration through which a host registered, as this server recorded it.
func cameThrough(host *infrav1.ElementalHost) types.NamespacedName {
	return types.NamespacedName{Namespace: host.Namespace, Name: host.Annotations[infrav1.RegistrationNameAnnotation]}
}
