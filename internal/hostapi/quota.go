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

// What hosts may have written. Each replica has buckets of its own, and begins with full ones.
const (
	// registerBurst hosts of a registration can register at once, and registerRate a second after that.
	registerBurst            = 2000
	registerRate  rate.Limit = 1
	// storeBurst bytes are stored at once on nobody's word but that of the holders of one registration token, and
	// storeRate bytes a second after that: 4 MiB an hour.
	storeBurst            = 32 << 20
	storeRate  rate.Limit = (4 << 20) / 3600.0
	// onwardBurst bytes of what a host reports as it moves on are stored although its registration's storeBurst is used up,
	// which is more than a host reports between its registration and its Machine, and onwardRate bytes a second after that:
	// the same again in a day.
	onwardBurst            = 64 << 10
	onwardRate  rate.Limit = onwardBurst / 86400.0
	// reportBurst reports of an approved host are stored at once, and reportRate a second after that. That a host registers
	// again counts as one.
	reportBurst            = 120
	reportRate  rate.Limit = 0.1
	// unapprovedEvery is how often a report of an unapproved host is stored at most.
	unapprovedEvery = time.Minute
)

// quota says what hosts may have written now. What it refuses may be tried again.
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

// admitHost lets a host register, or refuses it for now.
func (q *quota) admitHost(host *infrav1.ElementalHost) error {
	registration := cameThrough(host)
	if wait, taken := q.registered.take(registration, 1); !taken {
		return refuseTooMany(refusedRegistrations, wait, "registration %s takes one host a second after %d at once",
			registration.Name, registerBurst)
	}
	return q.admitBytes(host)
}

// admitRepeat lets a host register that has done so, or refuses it for now: each time costs a live read. It is counted among what
// the host reports, since neither is needed often.
func (q *quota) admitRepeat(host *infrav1.ElementalHost) error {
	if wait, taken := q.reported.take(client.ObjectKeyFromObject(host), 1); !taken {
		return refuseTooMany(refusedRegistrations, wait, "host %s is registered: it may ask for that again, or change its report, once in 10 seconds after %d times at once",
			host.Name, reportBurst)
	}
	return nil
}

// admitReport lets a report that says something new be stored, or refuses it for now. stored is the host as it
// was stored last. What the host says of the attempt, or of the reset, that is asked of it never waits, or rollouts and deletions
// would. Nor does a new host that moves on wait for what others of its registration have had stored, or those of a large fleet
// would get no further for hours.
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

// owe charges the registration for what is stored in any case: a host that nobody vouches for may tell of attempts of its own making.
func (q *quota) owe(host *infrav1.ElementalHost) error {
	size, err := sizeOf(host)
	if err == nil {
		q.stored.owe(cameThrough(host), size)
	}
	return err
}

// admitOnward lets a report through for which its host has bytes of its own. They are charged to the registration all the same:
// nothing else of its hosts is stored until it has made up for them.
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

// admitRate judges an unapproved host by when its last report was stored, which all replicas know, also after a
// restart.
func (q *quota) admitRate(stored *infrav1.ElementalHost) error {
	if stored.Spec.Approved {
		if wait, taken := q.reported.take(client.ObjectKeyFromObject(stored), 1); !taken {
			return refuseTooMany(refusedReports, wait, "host %s may change its report once in 10 seconds after %d times at once",
				stored.Name, reportBurst)
		}
		return nil
	}
	// What is stored has whole seconds.
	next := stored.Status.Agent.LastSeen.Add(unapprovedEvery + time.Second)
	if wait := next.Sub(q.clock.Now()); wait > 0 && !stored.Status.Agent.LastSeen.IsZero() {
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
		return refuseTooMany(refusedBytes, wait, "the hosts of registration %s that nobody vouches for have had too much stored",
			registration.Name)
	}
	return nil
}

// vouched says whether somebody vouches for a host who is not just a holder of the registration's token: the
// person who approved it, or the Machine that it serves.
func (q *quota) vouched(ctx context.Context, host *infrav1.ElementalHost) bool {
	if !host.Spec.Approved {
		return false
	}
	if host.Spec.MachineRef != nil {
		return true
	}
	registration, err := q.registrations.get(ctx, cameThrough(host))
	// Without a registration its token is worth nothing.
	return err != nil || registration.Spec.Approval != infrav1.ApprovalAuto
}

// sizeOf is about what etcd stores of a host, in bytes. The API server keeps the names of all fields once more,
// with who wrote them.
func sizeOf(host *infrav1.ElementalHost) (int, error) {
	bare := *host
	bare.ManagedFields = nil
	encoded, err := json.Marshal(&bare)
	if err != nil {
		return 0, fmt.Errorf("measuring ElementalHost %s/%s: %w", host.Namespace, host.Name, err)
	}
	return 2 * len(encoded), nil
}

// cameThrough is the registration that a host came through, as this server wrote it.
func cameThrough(host *infrav1.ElementalHost) types.NamespacedName {
	return types.NamespacedName{Namespace: host.Namespace, Name: host.Annotations[infrav1.RegistrationNameAnnotation]}
}
