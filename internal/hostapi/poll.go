// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/imagerules"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// getDesired answers with what is asked of a host: at once when the host does not know it yet, and when
// it changes otherwise, or when the host's patience ends.
func (s *Server) getDesired(r *http.Request) (reply, error) {
	caller, err := s.authenticate(r)
	if err != nil {
		return reply{}, err
	}
	patience, err := patienceOf(r)
	if err != nil {
		return reply{}, err
	}
	if caller.denied != nil {
		return s.desiredOfDenied(r, caller.denied, patience)
	}
	host := caller.host
	desired := Desired(host)
	if patience == 0 || r.URL.Query().Get("revision") != desired.Revision {
		return s.replyDesired(r, host.Namespace, desired)
	}
	return s.holdBack(r, host, &desired, patience)
}

// poll is a request that waits for news.
type poll struct {
	key      types.NamespacedName
	waiter   *waiter
	patience time.Duration
}

// holdBack enters the hub before it looks at the host again, so that no change falls between the two.
func (s *Server) holdBack(r *http.Request, host *infrav1.ElementalHost, known *wire.Desired, patience time.Duration) (reply, error) {
	held := &poll{key: client.ObjectKeyFromObject(host), waiter: s.hub.enter(host, known), patience: patience}
	current, err := s.hosts.get(r.Context(), held.key)
	if err == nil && current.UID != host.UID {
		err = refuseUnknown(held.key)
	}
	if err != nil {
		s.hub.leave(held.key, held.waiter)
		return reply{}, err
	}
	if desired := Desired(current); desired.Revision != known.Revision {
		s.hub.leave(held.key, held.waiter)
		return s.replyDesired(r, host.Namespace, desired)
	}
	return reply{later: held}, nil
}

func (s *Server) replyDesired(r *http.Request, namespace string, desired wire.Desired) (reply, error) {
	desired, err := completeDesired(r.Context(), s.roots, namespace, desired)
	return reply{status: http.StatusOK, body: desired}, err
}

// completeDesired adds the trusted root to what is asked of a host. The revision stays that of the ElementalHost alone.
func completeDesired(ctx context.Context, roots *imagerules.Roots, namespace string, desired wire.Desired) (wire.Desired, error) {
	if desired.Upgrade == nil {
		return desired, nil
	}
	verification, err := roots.Complete(ctx, namespace, desired.Upgrade.ImageVerification)
	if err != nil {
		return wire.Desired{}, err
	}
	upgrade := *desired.Upgrade
	upgrade.ImageVerification = verification
	desired.Upgrade = &upgrade
	return desired, nil
}

// hold keeps a request until there is an answer. A connection that serves nothing else is parked, which
// takes a third of the memory; what cannot be parked waits here.
func (s *Server) hold(w http.ResponseWriter, r *http.Request, held *poll) {
	if s.parked.park(w, r, held) {
		return
	}
	heldPolls.Inc()
	defer heldPolls.Dec()
	woken := make(chan struct{})
	if s.hub.asleep(held.waiter, func() { close(woken) }) {
		timer := s.clock.NewTimer(held.patience)
		defer timer.Stop()
		select {
		case <-woken:
		case <-timer.C():
		case <-r.Context().Done():
		}
	}
	status, body := answerTo(r.Context(), s.roots, held, s.hub.leave(held.key, held.waiter))
	send(w, status, body, "")
}

// answerTo is what a request is answered that has waited.
func answerTo(ctx context.Context, roots *imagerules.Roots, held *poll, news *wire.Desired) (int, any) {
	if news == nil {
		gone := refuseUnknown(held.key).answer
		return gone.Code, gone
	}
	desired, err := completeDesired(ctx, roots, held.key.Namespace, *news)
	if err != nil {
		failed := asFailure(err).answer
		return failed.Code, failed
	}
	return http.StatusOK, desired
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
	return patience - rand.N(patience/10+1), nil
}
