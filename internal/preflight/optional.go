// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// absentFor is how long an API that a cluster does not have is not looked for again. A mapper asks the API server each
// time for what it does not know.
const absentFor = 30 * time.Second

// absence remembers which clusters do not have which kinds, and since when.
type absence struct {
	mu    sync.Mutex
	since map[absentKind]time.Time
}

type absentKind struct {
	cluster client.ObjectKey
	kind    schema.GroupKind
}

func (a *absence) isKnown(of absentKind, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	since, found := a.since[of]
	return found && now.Sub(since) < absentFor && !now.Before(since)
}

func (a *absence) remember(of absentKind, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since == nil {
		a.since = map[absentKind]time.Time{}
	}
	a.since[of] = now
}

// optional is a workload cluster that may lack APIs.
type optional struct {
	workload.Asking
	cluster client.ObjectKey
	absent  *absence
	now     time.Time
	// notReady is how many Nodes are not.
	notReady int
	// residents are looked for, too.
	residents []workload.Resident
}

// Find remembers what is not there.
func (o *optional) Find(kind schema.GroupKind) (gvk schema.GroupVersionKind, found bool, err error) {
	of := absentKind{o.cluster, kind}
	if o.absent.isKnown(of, o.now) {
		return gvk, false, nil
	}
	gvk, found, err = o.Asking.Find(kind)
	if err == nil && !found {
		o.absent.remember(of, o.now)
	}
	return gvk, found, err
}
