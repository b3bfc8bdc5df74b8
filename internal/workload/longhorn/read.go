// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// Group of Longhorn's objects. They are in whatever namespace Longhorn is installed, mostly longhorn-system.
const Group = "longhorn.io"

// readWrite is the mode in which an engine uses a replica that has all the data.
const readWrite = "RW"

// Read reads Longhorn's volumes with their replicas, and its nodes; nil if the cluster has no Longhorn. It costs five objects or so for each
// volume of the cluster: what is asked of one node only is read by ReadOn.
func Read(ctx context.Context, in workload.Reading) (*Snapshot, error) {
	volumes := []volume{}
	if installed, err := list(ctx, in, "Volume", &volumes); err != nil || !installed {
		return nil, err
	}
	replicas, engines := []replica{}, []engine{}
	if _, err := list(ctx, in, "Replica", &replicas); err != nil {
		return nil, err
	}
	if _, err := list(ctx, in, "Engine", &engines); err != nil {
		return nil, err
	}
	return assemble(volumes, replicas, engines).withHolders(ctx, in)
}

// withHolders adds the nodes that Longhorn may place replicas on.
func (s *Snapshot) withHolders(ctx context.Context, in workload.Reading) (*Snapshot, error) {
	nodes := []holder{}
	if _, err := list(ctx, in, "Node", &nodes); err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if node.Spec.AllowScheduling {
			s.Holders = append(s.Holders, node.Metadata.Name)
		}
	}
	slices.Sort(s.Holders)
	return s, nil
}

// list adds the objects of a kind, as far as T knows them.
func list[T any](ctx context.Context, in workload.Reading, name string, into *[]T, options ...client.ListOption) (installed bool, err error) {
	found, installed, err := workload.Objects(ctx, in, schema.GroupKind{Group: Group, Kind: name}, options...)
	if err != nil || !installed {
		return false, err
	}
	for i := range found {
		var item T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found[i].Object, &item); err != nil {
			return true, fmt.Errorf("reading %s %s of %s: %w", name, found[i].GetName(), Group, err)
		}
		*into = append(*into, item)
	}
	return true, nil
}

func assemble(volumes []volume, replicas []replica, engines []engine) *Snapshot {
	modes, rules := map[string]string{}, map[string]bool{}
	for _, engine := range engines {
		if len(engine.Status.Modes) > 0 {
			rules[engine.Spec.Volume] = true
		}
		for replica, mode := range engine.Status.Modes {
			modes[replica] = mode
		}
	}
	byVolume := map[string][]Replica{}
	for _, stored := range replicas {
		byVolume[stored.Spec.Volume] = append(byVolume[stored.Spec.Volume], stored.seen(modes, rules[stored.Spec.Volume]))
	}
	snapshot := &Snapshot{Volumes: make([]Volume, 0, len(volumes))}
	for _, stored := range volumes {
		snapshot.Volumes = append(snapshot.Volumes, stored.seen(byVolume[stored.Metadata.Name]))
	}
	slices.SortFunc(snapshot.Volumes, func(a, b Volume) int { return strings.Compare(a.Name, b.Name) })
	return snapshot
}

// moment is a time as Longhorn writes it; zero if there is none.
func moment(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}
