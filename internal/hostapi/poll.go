// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"math/rand/v2"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// getDesired answers with what is asked of a host: at once when the host does not know it yet, and when
// it changes otherwise, or when the host's patience ends.
func (s *Server) getDesired(r *http.Request) (reply, error) {
	host, err := s.authenticateHost(r)
	if err != nil {
		return reply{}, err
	}
	patience, err := patienceOf(r)
	if err != nil {
		return reply{}, err
	}
	desired := Desired(host)
	if patience == 0 || r.URL.Query().Get("revision") != desired.Revision {
		return reply{status: http.StatusOK, body: desired}, nil
	}
	return s.hold(r, host, &desired, patience)
}

// hold waits for news. It enters the hub before it looks at the host again, so that no change falls
// between the two.
func (s *Server) hold(r *http.Request, host *infrav1.ElementalHost, known *wire.Desired, patience time.Duration) (reply, error) {
	key := client.ObjectKeyFromObject(host)
	waiter := s.hub.wait(host, known)
	defer s.hub.leave(key, waiter)

	current, err := s.hosts.get(r.Context(), key)
	if err != nil {
		return reply{}, err
	}
	if current.UID != host.UID {
		return reply{}, refuseUnknown(key)
	}
	if desired := Desired(current); desired.Revision != known.Revision {
		return reply{status: http.StatusOK, body: desired}, nil
	}
	news, held := s.await(r, waiter, known, patience)
	if news == nil {
		return reply{held: held}, refuseUnknown(key)
	}
	return reply{status: http.StatusOK, body: news, held: held}, nil
}

// await returns the news, or what is known when there are none; nil when the host is gone.
func (s *Server) await(r *http.Request, waiter *waiter, known *wire.Desired, patience time.Duration) (*wire.Desired, time.Duration) {
	heldPolls.Inc()
	defer heldPolls.Dec()
	since := s.clock.Now()
	timer := s.clock.NewTimer(patience)
	defer timer.Stop()
	news := known
	select {
	case news = <-waiter.news:
	case <-timer.C():
	case <-s.hub.closed:
	case <-r.Context().Done():
	}
	return news, s.clock.Since(since)
}

// patienceOf reads how long a host is ready to wait. Up to a tenth is taken off at random: hosts that
// came all at once, after a restart of the manager, shall not come back all at once for ever.
func patienceOf(r *http.Request) (time.Duration, error) {
	asked := r.URL.Query().Get("wait")
	if asked == "" {
		return 0, nil
	}
	patience, err := time.ParseDuration(asked)
	if err != nil || patience < 0 {
		return 0, refuse(http.StatusBadRequest, "wait is %q, want a duration of up to %s, as \"300s\"", shorten(asked, maxShort), wire.MaxWait)
	}
	patience = min(patience, wire.MaxWait)
	return patience - rand.N(patience/10+1), nil //nolint:gosec // spreads load, hides nothing
}
