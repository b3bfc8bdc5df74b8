// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn

import (
	"slices"
	"strings"
)

// What is read of the objects that Longhorn stores.
// Source: longhorn-manager, k8s/pkg/apis/longhorn/v1beta2.

type metadata struct {
	Name string `json:"name"`
}

type volume struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Wanted int `json:"numberOfReplicas"`
	} `json:"spec"`
	Status struct {
		State      string         `json:"state"`
		Robustness string         `json:"robustness"`
		DegradedAt string         `json:"lastDegradedAt"`
		Node       string         `json:"currentNodeID"`
		Kubernetes kubernetesUser `json:"kubernetesStatus"`
	} `json:"status"`
}

// kubernetesUser is who uses a volume, or used it last: then LastPodRefAt is set.
type kubernetesUser struct {
	Namespace    string `json:"namespace"`
	Claim        string `json:"pvcName"`
	LastPodRefAt string `json:"lastPodRefAt"`
	Workloads    []user `json:"workloadsStatus"`
}

type user struct {
	Pod  string `json:"podName"`
	Name string `json:"workloadName"`
	Kind string `json:"workloadType"`
}

type replica struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Volume    string `json:"volumeName"`
		Node      string `json:"nodeID"`
		HealthyAt string `json:"healthyAt"`
		FailedAt  string `json:"failedAt"`
	} `json:"spec"`
}

// holder is a node of Longhorn, which has the name of the cluster's.
type holder struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		AllowScheduling bool `json:"allowScheduling"`
	} `json:"spec"`
}

type engine struct {
	Spec struct {
		Volume string `json:"volumeName"`
	} `json:"spec"`
	Status struct {
		// Modes of the replicas that the engine uses; empty while it does not run.
		Modes map[string]string `json:"replicaModeMap"`
	} `json:"status"`
}

func (v volume) seen(replicas []Replica) Volume {
	user := v.Status.Kubernetes
	claim := ""
	if user.Claim != "" {
		claim = user.Namespace + "/" + user.Claim
	}
	slices.SortFunc(replicas, func(a, b Replica) int { return strings.Compare(a.Name, b.Name) })
	return Volume{
		Name: v.Metadata.Name, Claim: claim, Wanted: v.Spec.Wanted, State: v.Status.State, Robustness: v.Status.Robustness,
		DegradedAt: moment(v.Status.DegradedAt), Node: v.Status.Node, Workloads: user.now(), Replicas: replicas,
	}
}

// now are the workloads that use the volume at present.
func (u kubernetesUser) now() []string {
	if u.LastPodRefAt != "" {
		return nil
	}
	names := make([]string, 0, len(u.Workloads))
	for _, workload := range u.Workloads {
		if workload.Name == "" {
			names = append(names, "Pod "+workload.Pod)
			continue
		}
		names = append(names, workload.Kind+" "+workload.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// seen judges a replica by the mode in which the volume's engine uses it, and by what Longhorn has recorded of it where
// no engine runs.
func (r replica) seen(modes map[string]string, engineRuns bool) Replica {
	seen := Replica{Name: r.Metadata.Name, Node: r.Spec.Node, FailedAt: moment(r.Spec.FailedAt)}
	mode := modes[r.Metadata.Name]
	switch {
	case engineRuns:
		seen.Healthy = mode == readWrite
		seen.Rebuilding = mode == "WO" || mode == "" && r.Spec.FailedAt == ""
	default:
		seen.Healthy = r.Spec.HealthyAt != "" && r.Spec.FailedAt == ""
	}
	return seen
}
