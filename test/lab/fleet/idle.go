// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// joiners is the number of idle Nodes that join concurrently.
const joiners = 8

// Idle are Nodes of hosts that do not register, and on which nothing happens: they only give the cluster its size.
type Idle struct {
	nodes   *nodes
	stop    context.CancelFunc
	running sync.WaitGroup
}

// NewIdle adds the given number of Nodes to a cluster. They are Ready until Close.
func NewIdle(ctx context.Context, workload *rest.Config, kubeletVersion string, count int) (*Idle, error) {
	kube, err := kubernetes.NewForConfig(workload)
	if err != nil {
		return nil, fmt.Errorf("reaching the workload cluster: %w", err)
	}
	i := &Idle{nodes: newNodes(kube, kubeletVersion)}
	running, stop := context.WithCancel(context.Background())
	i.stop = stop
	i.running.Go(func() { i.nodes.renew(running) })
	joining, ctx := errgroup.WithContext(ctx)
	joining.SetLimit(joiners)
	for n := range count {
		name := fmt.Sprintf("idle-node-%d", n+1)
		joining.Go(func() error { return i.nodes.join(ctx, name, name+"-1") })
	}
	if err := joining.Wait(); err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// Close stops renewing their Leases. The Nodes stay.
func (i *Idle) Close() {
	i.stop()
	i.running.Wait()
}
