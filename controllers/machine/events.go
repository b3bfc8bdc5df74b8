// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
)

// hostEvent is something that happened to an object.
type hostEvent struct {
	about   client.Object
	related client.Object
	// kind is corev1.EventTypeNormal or EventTypeWarning.
	kind   string
	reason string
	action string
	note   string
}

func hostAssociated(machine *infrav1.ElementalMachine, host *infrav1.ElementalHost) hostEvent {
	return hostEvent{
		about: machine, related: host, kind: corev1.EventTypeNormal, reason: infrav1.EventHostAssociated, action: "Associate",
		note: fmt.Sprintf("ElementalHost %s serves the machine", host.Name),
	}
}

func hostReleased(machine *infrav1.ElementalMachine, host *infrav1.ElementalHost) hostEvent {
	return hostEvent{
		about: host, related: machine, kind: corev1.EventTypeNormal, reason: infrav1.EventHostReleased, action: "Release",
		note: fmt.Sprintf("ElementalMachine %s is being deleted: the host resets itself", machine.Name),
	}
}

// hostOSReplaced tells that what a person had set on the host does not last.
func hostOSReplaced(machine *infrav1.ElementalMachine, host *infrav1.ElementalHost, former infrav1.OSVersionManagement) hostEvent {
	remedy := "change it there"
	if template := owner.MadeFrom(machine); template != "" {
		remedy = "to have another, change it in ElementalMachineTemplate " + template
	}
	return hostEvent{
		about: host, related: machine, kind: corev1.EventTypeWarning, reason: infrav1.EventHostOSReplaced, action: "Associate",
		note: fmt.Sprintf("spec.osVersionManagement was %s and is now that of ElementalMachine %s, %s: %s",
			describeOS(former), machine.Name, describeOS(machine.Spec.OSVersionManagement), remedy),
	}
}

func (r *Reconciler) record(e hostEvent) {
	r.Recorder.Eventf(e.about, e.related, e.kind, e.reason, e.action, "%s", e.note)
}
