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

// features remembers what a workload cluster does not have, and its Pods for a while, as long as it is connected.
type features struct {
	clock clock.PassiveClock
	// mutex is not held while a cluster is asked: many ask, and one of them may have little time.
	mutex      sync.Mutex
	noKubeVirt time.Time // when that was found
	// pods are what evacuations in the cluster share.
	pods kubevirt.SharedPods
}

func newFeatures() *features {
	f := &features{clock: clock.RealClock{}}
	f.pods.Now = f.clock.Now
	return f
}

// HasKubeVirt says whether there may be virtual machines on the Node. One that was not there a while ago is looked
// for again only where virt-handler has been on the Node; it labels it.
func (c *Cluster) HasKubeVirt(ctx context.Context, node *corev1.Node) (bool, error) {
	labelled := false
	if node != nil {
		_, labelled = node.Labels[kubevirt.SchedulableLabel]
	}
	if !labelled && c.features.hadNoKubeVirt() {
		return false, nil
	}
	installed, err := kubevirt.Installed(ctx, c.live)
	if err == nil {
		c.features.rememberKubeVirt(installed)
	}
	return installed, err
}

func (f *features) hadNoKubeVirt() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.clock.Since(f.noKubeVirt) < lookAgain
}

func (f *features) rememberKubeVirt(installed bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.noKubeVirt = time.Time{}
	if !installed {
		f.noKubeVirt = f.clock.Now()
	}
}

// SharedPods are what the evacuations in the cluster share, for as long as it is connected.
func (c *Cluster) SharedPods() *kubevirt.SharedPods { return &c.features.pods }

// Live reads and writes the workload cluster without a cache.
func (c *Cluster) Live() client.Client { return c.live }

// Canceller takes evictions of virtual machines back; nil where the cluster was made without a connection of its own.
func (c *Cluster) Canceller() kubevirt.Canceller {
	if c.config == nil {
		return nil
	}
	return kubevirt.NewCanceller(c.config)
}
