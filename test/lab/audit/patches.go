// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Patched lists what the merge patches of a user changed in objects of a resource in a time window: `annotation NAME`, or the path of another field.
// Of other writes it lists the verb. It needs the bodies of the requests.
func Patched(events []auditv1.Event, user, resource string, from, to time.Time) ([]string, error) {
	found := map[string]bool{}
	for i := range events {
		event, at := &events[i], events[i].StageTimestamp.Time
		isOfUser := event.User.Username == user && !at.Before(from) && !at.After(to)
		if !isOfUser || !IsWrite(*event) || !Succeeded(*event) || event.ObjectRef == nil || event.ObjectRef.Resource != resource {
			continue
		}
		if err := collectWrite(event, found); err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// collectWrite adds what a write has changed.
func collectWrite(event *auditv1.Event, found map[string]bool) error {
	if event.Verb != "patch" {
		found[event.Verb] = true
		return nil
	}
	if event.RequestObject == nil {
		return fmt.Errorf("the audit log has no body of a patch of %s %s", event.ObjectRef.Resource, event.ObjectRef.Name)
	}
	patch := map[string]any{}
	if err := json.Unmarshal(event.RequestObject.Raw, &patch); err != nil {
		return fmt.Errorf("a patch of %s %s: %w", event.ObjectRef.Resource, event.ObjectRef.Name, err)
	}
	collect(patch, "", found)
	return nil
}

// collect adds the leaves of a patch, without what only makes it fail at a conflict.
func collect(patch map[string]any, path string, found map[string]bool) {
	for key, value := range patch {
		field := key
		if path != "" {
			field = path + "." + key
		}
		inner, isObject := value.(map[string]any)
		switch {
		case field == "metadata.annotations" && isObject:
			for name := range inner {
				found["annotation "+name] = true
			}
		case field == "metadata.resourceVersion" || field == "metadata.uid":
		case isObject:
			collect(inner, field, found)
		default:
			found[field] = true
		}
	}
}
