// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// hostEvent is something that happened to an object.
type hostEvent struct {
	about   client.Object
	related client.Object
	reason  string
	action  string
	note    string
}

func hostAssociated(machine *infrav1.ElementalMachine, host *infrav1.ElementalHost) hostEvent {
	return hostEvent{
		about: machine, related: host, reason: infrav1.EventHostAssociated, action: "Associate",
		note: fmt.Sprintf("ElementalHost %s serves the machine", host.Name),
	}
}

func hostReleased(machine *infrav1.ElementalMachine, host *infrav1.ElementalHost) hostEvent {
	return hostEvent{
		about: host, related: machine, reason: infrav1.EventHostReleased, action: "Release",
		note: fmt.Sprintf("ElementalMachine %s is being deleted: the host resets itself", machine.Name),
	}
}

func (r *Reconciler) record(e hostEvent) {
	r.Recorder.Eventf(e.about, e.related, corev1.EventTypeNormal, e.reason, e.action, "%s", e.note)
}
