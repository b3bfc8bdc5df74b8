#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  k8s.io/client-go v0.36.3, the recorder of events.k8s.io (tools/events), which controller-runtime has as GetEventRecorder
# Guess:     Two events with different notes are two events. Only one that is repeated word by word becomes a series.
# Behaviour: The note does not count. A second event about the same object in the same resourceVersion, with the same type, reason
#            and action, becomes series.count 2 of the first one, and its note is sent nowhere. With another action it is an
#            event of its own.
# Seen:      what expect compares below.
# Source:    getKey in tools/events/event_broadcaster.go of client-go, which leaves the note out.
# Here:      controllers/machinetemplate/held.go has the reason of a hold as the action of its event.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go_modules k8s.io/client-go@v0.36.3 k8s.io/api@v0.36.3 k8s.io/apimachinery@v0.36.3
go_run <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
)

// sink is where an API server would be.
type sink struct{ sent chan string }

func (s sink) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	s.sent <- fmt.Sprintf("create, action %s: %s", event.Action, event.Note)
	return event, nil
}

func (s sink) Update(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	s.sent <- "update: " + event.Note
	return event, nil
}

func (s sink) Patch(_ context.Context, old *eventsv1.Event, data []byte) (*eventsv1.Event, error) {
	patch := struct {
		Note   *string `json:"note"`
		Series struct {
			Count int `json:"count"`
		} `json:"series"`
	}{}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	s.sent <- fmt.Sprintf("patch of %q: count %d, has a note: %t", old.Note, patch.Series.Count, patch.Note != nil)
	return old, nil
}

func main() {
	to := sink{make(chan string)}
	broadcaster := events.NewBroadcaster(to)
	if err := broadcaster.StartRecordingToSinkWithContext(context.Background()); err != nil {
		panic(err)
	}
	recorder := broadcaster.NewRecorder(scheme.Scheme, "example")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1", ResourceVersion: "1"}}
	for _, event := range []struct{ action, note string }{{"Check", "the disk is full"}, {"Check", "the clock is wrong"}, {"Look", "the clock is wrong"}} {
		recorder.Eventf(pod, nil, corev1.EventTypeWarning, "Held", event.action, "%s", event.note)
		fmt.Println(<-to.sent)
	}
}
GO
expect <<'SEEN'
create, action Check: the disk is full
patch of "the disk is full": count 2, has a note: false
create, action Look: the clock is wrong
SEEN
