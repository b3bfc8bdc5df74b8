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

// getDesired returns the desired state of a host: at once if its revision is not the host's, otherwise when it changes, or at the deadline
// of the request.
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
	return s.makePending(r, host, &desired, patience)
}

// poll is a pending request.
type poll struct {
	key      types.NamespacedName
	waiter   *waiter
	patience time.Duration
}

// makePending enters the hub before it reads the host again, so that no change is missed in between.
func (s *Server) makePending(r *http.Request, host *infrav1.ElementalHost, known *wire.Desired, patience time.Duration) (reply, error) {
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

// completeDesired adds the trusted root to a desired state. The revision does not depend on the root.
func completeDesired(ctx context.Context, roots *imagerules.Roots, namespace string, desired wire.Desired) (wire.Desired, error) {
	if desired.Upgrade == nil {
		return desired, nil
	}
	upgrade := *desired.Upgrade
	var err error
	upgrade.ImageVerification, err = roots.Complete(ctx, namespace, upgrade.ImageVerification)
	desired.Upgrade = &upgrade
	return desired, err
}

// hold keeps a request pending. If its connection serves no other request it is parked, which takes a third of the memory; otherwise it
// waits here.
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

// answerTo returns the response to a pending request.
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

// patienceOf returns how long a host is ready to wait, minus a random part of up to a tenth: otherwise hosts that all reconnected at the
// same time, after a restart of the manager, would keep polling at the same time.
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
