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

// told is what an operator has to learn of a request: who got the keys to a cluster, and who tried to get what is another's.
type told struct {
	// kind and reason of the Event, and what the caller was about to do.
	kind, reason, action string
	// note begins the Event; the caller's address and key follow it.
	note string
	// key that the caller has proven to hold.
	key string
}

// tell leaves an Event on the host that a request concerns, and a line in the log. Events are of hosts that exist, and those that
// differ in nothing but the note are one object with a count (client-go's recorder), so a caller who asks again and again
// does not fill etcd.
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
		note: "The host asks for bootstrap data and does not get any: " + reason,
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
