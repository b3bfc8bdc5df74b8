// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// lookAgain is after how long KubeVirt is looked for again that a workload cluster does not have. It is long, because a
// cluster that never has it is not to pay for it.
const lookAgain = 10 * time.Minute

// known is what is remembered of a workload cluster: that it does not have KubeVirt, and its Pods for a while.
type known struct {
	clock clock.PassiveClock
	// mutex is not held while a cluster is asked: many ask, and one of them may have little time.
	mutex sync.Mutex
	// absentAt is when it was found that the cluster does not have KubeVirt; zero if it may have it.
	absentAt time.Time
	// pods are what evacuations in the cluster share.
	pods SharedPods
}

func knownOf(in *workload.Cluster) *known {
	return workload.Remembered(in, func() *known {
		k := &known{clock: clock.RealClock{}}
		k.pods.Now = k.clock.Now
		return k
	})
}

// Present reports whether there may be virtual machines on the Node. KubeVirt that was not there a while ago is looked
// for again only where virt-handler has been on the Node; it labels it.
func (Resident) Present(ctx context.Context, in *workload.Cluster, node *corev1.Node) (bool, error) {
	labelled := false
	if node != nil {
		_, labelled = node.Labels[SchedulableLabel]
	}
	k := knownOf(in)
	if !labelled && k.isAbsent() {
		return false, nil
	}
	installed, err := Installed(ctx, in.Live())
	if err == nil {
		k.remember(installed)
	}
	return installed, err
}

// CertainlyPresent looks at the Node first, and asks the API server itself then: what is known of its kinds does not say that
// KubeVirt was uninstalled.
func (Resident) CertainlyPresent(ctx context.Context, in *workload.Cluster, node *corev1.Node) (bool, error) {
	if _, labelled := node.Labels[SchedulableLabel]; !labelled {
		return false, nil
	}
	instances := &metav1.PartialObjectMetadataList{}
	instances.SetGroupVersionKind(kubevirtv1.VirtualMachineInstanceGroupVersionKind)
	err := in.Live().List(ctx, instances, client.Limit(1))
	if existing.IsAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for virtual machines: %w", err)
	}
	return true, nil
}

func (k *known) isAbsent() bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.clock.Since(k.absentAt) < lookAgain
}

func (k *known) remember(installed bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.absentAt = time.Time{}
	if !installed {
		k.absentAt = k.clock.Now()
	}
}
