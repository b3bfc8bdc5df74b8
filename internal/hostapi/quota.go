// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
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
	// reportBurst reports of an approved host are stored at once, and reportRate a second after that.
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
	reported      *buckets // by host, of reports
}

func newQuota(clock clock.PassiveClock, registrations *registrations) *quota {
	return &quota{
		clock: clock, registrations: registrations,
		registered: newBuckets(clock, registerRate, registerBurst),
		stored:     newBuckets(clock, storeRate, storeBurst),
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

// admitReport lets a report that says something new be stored, or refuses it for now. stored is the host as it
// was stored last. What the host says of the attempt, or of the reset, that is asked of it never waits, or rollouts and deletions
// would.
func (q *quota) admitReport(ctx context.Context, stored *infrav1.ElementalHost, status infrav1.ElementalHostStatus) error {
	if advances(stored, status.Upgrade) || resets(stored, status.Phase) {
		return nil
	}
	if err := q.admitRate(stored); err != nil {
		return err
	}
	if q.vouched(ctx, stored) {
		return nil
	}
	next := *stored
	conditions := stored.Status.Conditions
	next.Status = status
	next.Status.Conditions = conditions
	return q.admitBytes(&next)
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

// advances says whether a report takes an attempt to a later phase than what is stored: the one that is asked of the host, or
// the one that it has told of already, which may have been withdrawn while it had begun. Whether it has is what the
// withdrawal waits to hear. Only forward: a host that goes to and fro between phases is not kept from being told to wait.
func advances(stored *infrav1.ElementalHost, reported *infrav1.HostUpgradeStatus) bool {
	if reported == nil {
		return false
	}
	if told := stored.Status.Upgrade; told != nil && told.Attempt == reported.Attempt {
		return rank(reported.Phase) > rank(told.Phase)
	}
	asked := Desired(stored).Upgrade
	return asked != nil && asked.Attempt == reported.Attempt
}

// resetPhases in their order.
var resetPhases = []infrav1.HostPhase{infrav1.HostPhaseTriggeringReset, infrav1.HostPhaseResetting, infrav1.HostPhaseReset}

// resets says whether a report takes the reset that is asked of a host further. Only forward, as above.
func resets(stored *infrav1.ElementalHost, reported infrav1.HostPhase) bool {
	return hoststate.Released(stored) && slices.Index(resetPhases, reported) > slices.Index(resetPhases, stored.Status.Phase)
}

func rank(phase infrav1.HostUpgradePhase) int { return slices.Index(attemptPhases, string(phase)) }

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
