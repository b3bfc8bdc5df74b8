// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Eviction of a Pod that was requested of the API server.
type Eviction struct {
	Pod  string
	User string
	At   time.Time
}

// Evictions lists the evictions that were granted.
func Evictions(events []auditv1.Event) []Eviction { return evictions(events, Succeeded) }

// RefusedEvictions lists the evictions that were refused, as a PodDisruptionBudget demands.
func RefusedEvictions(events []auditv1.Event) []Eviction {
	return evictions(events, func(event auditv1.Event) bool {
		return event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusTooManyRequests
	})
}

func evictions(events []auditv1.Event, counts func(auditv1.Event) bool) []Eviction {
	evictions := []Eviction{}
	for i := range events {
		ref := events[i].ObjectRef
		if ref == nil || ref.Resource != "pods" || ref.Subresource != "eviction" || !counts(events[i]) {
			continue
		}
		evictions = append(evictions, Eviction{
			Pod: ref.Namespace + "/" + ref.Name, User: events[i].User.Username, At: events[i].StageTimestamp.Time,
		})
	}
	return evictions
}

// Budget is the worst state of a PodDisruptionBudget.
type Budget struct {
	// Desired is the number of healthy Pods that it requires.
	Desired int32
	// Minimum is the lowest number of healthy Pods that was observed once there had been enough of
	// them.
	Minimum int32
}

// Budgets returns the worst state of each PodDisruptionBudget, from the status that the disruption
// controller wrote.
func Budgets(events []auditv1.Event) map[string]Budget {
	budgets := map[string]Budget{}
	for i := range events {
		budget := writtenBudget(events[i])
		if budget == nil || budget.Status.DesiredHealthy == 0 {
			continue
		}
		name := budget.Namespace + "/" + budget.Name
		known, enough := budgets[name]
		switch {
		case enough:
			known.Minimum = min(known.Minimum, budget.Status.CurrentHealthy)
			known.Desired = budget.Status.DesiredHealthy
			budgets[name] = known
		case budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy:
			budgets[name] = Budget{Desired: budget.Status.DesiredHealthy, Minimum: budget.Status.CurrentHealthy}
		}
	}
	return budgets
}

func writtenBudget(event auditv1.Event) *policyv1.PodDisruptionBudget {
	if event.ObjectRef == nil || event.ObjectRef.Resource != "poddisruptionbudgets" || !Succeeded(event) || event.ResponseObject == nil {
		return nil
	}
	budget := &policyv1.PodDisruptionBudget{}
	if err := json.Unmarshal(event.ResponseObject.Raw, budget); err != nil || budget.Kind != "PodDisruptionBudget" {
		return nil
	}
	return budget
}

// Writes counts the writes of a user in a time window, by resource.
func Writes(events []auditv1.Event, user string, from, to time.Time) map[string]int {
	return count(events, user, from, to, IsWrite)
}

// Reads counts the reads of a user in a time window, by resource, without watches. Of single objects the log has those that our
// manager reads, Pods and virtual machines.
func Reads(events []auditv1.Event, user string, from, to time.Time) map[string]int {
	return count(events, user, from, to, isRead)
}

func isRead(event auditv1.Event) bool { return event.Verb == "get" || event.Verb == "list" }

func count(events []auditv1.Event, user string, from, to time.Time, counts func(auditv1.Event) bool) map[string]int {
	found := map[string]int{}
	for i := range events {
		at := events[i].StageTimestamp.Time
		if !counts(events[i]) || events[i].User.Username != user || at.Before(from) || at.After(to) || events[i].ObjectRef == nil {
			continue
		}
		resource := events[i].ObjectRef.Resource
		if events[i].ObjectRef.Subresource != "" {
			resource += "/" + events[i].ObjectRef.Subresource
		}
		found[resource]++
	}
	return found
}

// Deleted lists the objects of a resource for which deletion was requested, as namespace/name. Dry runs do not count, for
// resources whose requests the log has.
func Deleted(events []auditv1.Event, resource string) []string {
	return deletions(events, resource, Succeeded)
}

// RefusedDeletions lists the objects of a resource whose deletion was refused by admission, as namespace/name. Dry runs do not
// count here either.
func RefusedDeletions(events []auditv1.Event, resource string) []string {
	return deletions(events, resource, func(event auditv1.Event) bool {
		return event.ResponseStatus != nil && slices.Contains([]int32{http.StatusForbidden, http.StatusUnprocessableEntity}, event.ResponseStatus.Code)
	})
}

func deletions(events []auditv1.Event, resource string, counts func(auditv1.Event) bool) []string {
	names := []string{}
	for i := range events {
		ref := events[i].ObjectRef
		if ref == nil || ref.Resource != resource || ref.Subresource != "" || events[i].Verb != "delete" || isDryRun(events[i]) {
			continue
		}
		if counts(events[i]) {
			names = append(names, ref.Namespace+"/"+ref.Name)
		}
	}
	return names
}

// isDryRun looks into the options that a client sends with a deletion.
func isDryRun(event auditv1.Event) bool {
	if event.RequestObject == nil {
		return false
	}
	options := metav1.DeleteOptions{}
	return json.Unmarshal(event.RequestObject.Raw, &options) == nil && len(options.DryRun) > 0
}
