// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

// lookAgain is after how long it is looked again for what a workload cluster does not have. It is long, because a
// cluster that never has it is not to pay for it.
const lookAgain = 10 * time.Minute

// features remembers what a workload cluster does not have, as long as it is connected.
type features struct {
	clock      clock.PassiveClock
	mutex      sync.Mutex
	noKubeVirt time.Time // when that was found
}

func newFeatures() *features { return &features{clock: clock.RealClock{}} }

// HasKubeVirt says whether there may be virtual machines on the Node. One that was not there a while ago is looked
// for again only where virt-handler has been on the Node; it labels it.
func (c *Cluster) HasKubeVirt(ctx context.Context, node *corev1.Node) (bool, error) {
	labelled := false
	if node != nil {
		_, labelled = node.Labels[kubevirt.SchedulableLabel]
	}
	c.features.mutex.Lock()
	defer c.features.mutex.Unlock()
	if !labelled && c.features.clock.Since(c.features.noKubeVirt) < lookAgain {
		return false, nil
	}
	installed, err := kubevirt.Installed(ctx, c.live)
	switch {
	case err != nil:
	case installed:
		c.features.noKubeVirt = time.Time{}
	default:
		c.features.noKubeVirt = c.features.clock.Now()
	}
	return installed, err
}

// Live reads and writes the workload cluster without a cache.
func (c *Cluster) Live() client.Client { return c.live }

// Canceller takes evictions of virtual machines back; nil where the cluster was made without a connection of its own.
func (c *Cluster) Canceller() kubevirt.Canceller {
	if c.config == nil {
		return nil
	}
	return kubevirt.NewCanceller(c.config)
}
