// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"path"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// launcherPrefix is the name prefix of virt-launcher Pods; the machine's name and a suffix of five characters follow.
const launcherPrefix = "virt-launcher-"

// VMRequests are the requests to an API server that concern virtual machines.
type VMRequests struct {
	// Of counts by virtual machine, as namespace/name.
	Of map[string]int
	// Common counts requests that concern several machines, such as lists, and creates with a generated name.
	Common int
	// Kinds counts all requests, by "verb resource/subresource".
	Kinds map[string]int
}

// Total number of requests.
func (r VMRequests) Total() int {
	total := r.Common
	for _, count := range r.Of {
		total += count
	}
	return total
}

// ForVMs counts requests for VirtualMachines, their instances and migrations, and their virt-launcher Pods: reads,
// writes and evictions, including denied ones. Watches are not logged. Select the events of a user first; see ByUser.
func ForVMs(events []auditv1.Event) VMRequests {
	found := VMRequests{Of: map[string]int{}, Kinds: map[string]int{}}
	for i := range events {
		ref := events[i].ObjectRef
		if ref == nil {
			continue
		}
		name, concerned := machineOf(ref)
		if !concerned {
			continue
		}
		found.Kinds[events[i].Verb+" "+path.Join(ref.Resource, ref.Subresource)]++
		if name == "" {
			found.Common++
			continue
		}
		found.Of[ref.Namespace+"/"+name]++
	}
	return found
}

// machineOf is the virtual machine that a request concerns; empty if it concerns several or an unnamed one.
func machineOf(ref *auditv1.ObjectReference) (name string, concerned bool) {
	switch {
	case ref.APIGroup == "kubevirt.io" && ref.Resource == "virtualmachineinstancemigrations":
		return "", true
	case ref.APIGroup == "kubevirt.io" && strings.HasPrefix(ref.Resource, "virtualmachine"), ref.APIGroup == "subresources.kubevirt.io":
		return ref.Name, true
	case ref.APIGroup == "" && ref.Resource == "pods" && strings.HasPrefix(ref.Name, launcherPrefix):
		named := strings.TrimPrefix(ref.Name, launcherPrefix)
		if end := strings.LastIndex(named, "-"); end > 0 {
			named = named[:end]
		}
		return named, true
	}
	return "", false
}

// ByUser selects the requests of a user.
func ByUser(events []auditv1.Event, user string) []auditv1.Event {
	chosen := []auditv1.Event{}
	for i := range events {
		if events[i].User.Username == user {
			chosen = append(chosen, events[i])
		}
	}
	return chosen
}

// Starts counts how often a guest of each virtual machine was started, by namespace/name: one more than its restarts.
func Starts(events []auditv1.Event) map[string]int {
	starts := map[string]int{}
	for i := range events {
		ref := events[i].ObjectRef
		if ref != nil && ref.Resource == "virtualmachineinstances" && ref.Subresource == "" && events[i].Verb == "create" && Succeeded(events[i]) {
			starts[ref.Namespace+"/"+ref.Name]++
		}
	}
	return starts
}
