// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// told is an event for operators: bootstrap data was given out, or somebody requested what belongs to another host.
type told struct {
	// kind and reason of the Event, and what the caller was about to do.
	kind, reason, action string
	// note is the beginning of the event's message; the caller's address and key follow.
	note string
	// key that the caller has proven to own.
	key string
}

// tell emits an event on the host, and logs it. The recorder aggregates events that differ only in the note, so a caller that repeats its
// request does not fill etcd.
func (s *Server) tell(r *http.Request, host *infrav1.ElementalHost, what told) {
	fingerprint := wire.KeyFingerprint(what.key)
	ctrl.LoggerFrom(r.Context()).Info(what.note, "ElementalHost", klog.KObj(host), "reason", what.reason, "address", r.RemoteAddr, "key", fingerprint)
	s.recorder.Eventf(host, nil, what.kind, what.reason, what.action, "%s (asked from %s with the key %s)", what.note, r.RemoteAddr, fingerprint)
}

func (s *Server) tellHandedOut(r *http.Request, host *infrav1.ElementalHost, machine string) {
	s.tell(r, host, told{
		kind: corev1.EventTypeNormal, reason: infrav1.EventBootstrapHandedOut, action: "Bootstrap", key: host.Spec.PubKey,
		note: "The host was given the bootstrap data of Machine " + machine,
	})
}

func (s *Server) tellWithheld(r *http.Request, host *infrav1.ElementalHost, reason string) {
	s.tell(r, host, told{
		kind: corev1.EventTypeWarning, reason: infrav1.EventBootstrapWithheld, action: "Bootstrap", key: host.Spec.PubKey,
		note: "The host was refused bootstrap data: " + reason,
	})
}

func (s *Server) tellNameTaken(r *http.Request, host *infrav1.ElementalHost, otherKey string) {
	s.tell(r, host, told{
		kind: corev1.EventTypeWarning, reason: infrav1.EventHostNameTaken, action: "Register", key: otherKey,
		note: "Somebody with another key tried to register under the name of this host",
	})
}

func (s *Server) tellLeaves(r *http.Request, host *infrav1.ElementalHost) {
	s.tell(r, host, told{
		kind: corev1.EventTypeNormal, reason: infrav1.EventHostLeaves, action: "Reset", key: host.Spec.PubKey,
		note: "The host has begun to reset itself and asked to be deleted",
	})
}
