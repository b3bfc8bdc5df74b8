// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxAdmissions is how many hosts are created at the same time. kube-apiserver accepts 100 requests on one HTTP/2
	// connection, which the reports share. A client opens another connection for each further request, whose handshake costs
	// more than the request.
	maxAdmissions = 40
	// maxShare is how many of them come through one registration: whoever has its token holds up no other registration.
	maxShare = maxAdmissions / 2
	// admissionWait is how long a host waits until it is created. It is then told to try again: an agent that had waited in vain
	// for longer would open another connection.
	admissionWait = 10 * time.Second
)

// admissions bounds how many hosts are created at the same time.
type admissions struct {
	all *semaphore.Weighted

	mu   sync.Mutex
	each map[types.NamespacedName]*share // of the registrations through which hosts are being created
}

// share of one registration.
type share struct {
	places *semaphore.Weighted
	users  int
	// counting is held while the places of the registration are counted and one is taken.
	counting sync.Mutex
}

func newAdmissions() *admissions {
	return &admissions{all: semaphore.NewWeighted(maxAdmissions), each: map[types.NamespacedName]*share{}}
}

// begin waits until one more host may be created through a registration; done is to be called afterwards. A host of a
// registration that has all of its share waits for that first, and so is not in the way of other registrations.
func (a *admissions) begin(ctx context.Context, registration types.NamespacedName) (of *share, done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, admissionWait)
	defer cancel()
	of = a.enter(registration)
	if err := of.places.Acquire(ctx, 1); err != nil {
		a.leave(registration)
		return nil, nil, fmt.Errorf("waiting for other hosts of registration %s: %w", registration.Name, err)
	}
	if err := a.all.Acquire(ctx, 1); err != nil {
		of.places.Release(1)
		a.leave(registration)
		return nil, nil, fmt.Errorf("waiting for other hosts: %w", err)
	}
	return of, func() {
		a.all.Release(1)
		of.places.Release(1)
		a.leave(registration)
	}, nil
}

func (a *admissions) enter(registration types.NamespacedName) *share {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.each[registration] == nil {
		a.each[registration] = &share{places: semaphore.NewWeighted(maxShare)}
	}
	a.each[registration].users++
	return a.each[registration]
}

// leave forgets the share of a registration that nobody uses.
func (a *admissions) leave(registration types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.each[registration].users--; a.each[registration].users == 0 {
		delete(a.each, registration)
	}
}
