// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"slices"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// maxLine is the maximum length of a line of an audit log, in bytes.
const maxLine = 16 << 20

// Read reads the events of an audit log, in the order in which the requests completed. The last line may be incomplete
// because it is being written, and is left out then.
func Read(file string) ([]auditv1.Event, error) {
	log, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = log.Close() }()
	events := []auditv1.Event{}
	lines := bufio.NewScanner(log)
	lines.Buffer(make([]byte, 0, bufio.MaxScanTokenSize), maxLine)
	var unread error
	for number := 1; lines.Scan(); number++ {
		if unread != nil {
			return nil, unread
		}
		event := auditv1.Event{}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			unread = fmt.Errorf("reading line %d of %s: %w", number, file, err)
			continue
		}
		events = append(events, event)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return events, nil
}

// Owners are the resources of what owns Machines in the lab.
var Owners = []string{"machinedeployments", "machinesets", "kubeadmcontrolplanes"}

// Succeeded reports whether a request was carried out.
func Succeeded(event auditv1.Event) bool {
	const firstRedirect = 300
	return event.ResponseStatus != nil && event.ResponseStatus.Code < firstRedirect
}

// starting is the longest time after its start in which an API server may not have read the RBAC roles yet.
const starting = 20 * time.Second

// answers are the responses to requests that need one permission.
type answers struct {
	granted, refused, isList bool
	// first and last refusal.
	first, last time.Time
}

func (a *answers) add(event auditv1.Event) {
	switch at := event.StageTimestamp.Time; {
	case Succeeded(event):
		a.granted = true
	case event.ResponseStatus.Code == http.StatusForbidden:
		if !a.refused {
			a.first = at
		}
		a.refused, a.last, a.isList = true, at, event.Verb == "list"
	}
}

func (a *answers) isLacking() bool {
	return a.refused && !a.granted && (!a.isList || a.last.Sub(a.first) >= starting)
}

// Forbidden lists the writes and lists that a user was denied, as "verb group/resource": permissions that its roles
// lack. Permissions that were granted at another time are left out, because an API server that starts denies requests
// until it has read the roles. So are lists that were denied only in such a period: the client either watches by now,
// which is not logged, or would have been denied again.
func Forbidden(events []auditv1.Event, user string) []string {
	asked := map[string]*answers{}
	for i := range events {
		ref, status := events[i].ObjectRef, events[i].ResponseStatus
		if ref == nil || status == nil || events[i].User.Username != user {
			continue
		}
		right := fmt.Sprintf("%s %s/%s", events[i].Verb, ref.APIGroup, path.Join(ref.Resource, ref.Subresource))
		if asked[right] == nil {
			asked[right] = &answers{}
		}
		asked[right].add(events[i])
	}
	lacking := []string{}
	for right, answers := range asked {
		if answers.isLacking() {
			lacking = append(lacking, right)
		}
	}
	slices.Sort(lacking)
	return lacking
}

// By selects the requests of the users of a group. Each process of the lab that has to be distinguished from others of
// the same user has a group of its own.
func By(events []auditv1.Event, group string) []auditv1.Event {
	return slices.DeleteFunc(slices.Clone(events), func(event auditv1.Event) bool { return !slices.Contains(event.User.Groups, group) })
}

// IsWrite reports whether a request could change an object.
func IsWrite(event auditv1.Event) bool {
	switch event.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}
