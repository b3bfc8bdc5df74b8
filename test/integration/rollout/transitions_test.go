// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// transitions records each change of the Updating condition of each Machine, as `kubectl describe
// machine` shows it.
type transitions struct {
	mu   sync.Mutex
	said map[string][]string
}

// watchTransitions records from now on, until the spec ends.
func watchTransitions(ctx context.Context, cluster *scenario.Cluster) *transitions {
	GinkgoHelper()
	t := &transitions{said: map[string][]string{}}
	suite.Follow(ctx, cluster.Lab.Kube, &clusterv1.MachineList{}, func(event watch.Event) bool {
		if machine, isMachine := event.Object.(*clusterv1.Machine); isMachine {
			t.record(machine)
		}
		return false
	}, client.InNamespace(cluster.Namespace()))
	return t
}

func (t *transitions) record(machine *clusterv1.Machine) {
	updating := conditions.Get(machine, clusterv1.MachineUpdatingCondition)
	if updating == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	said := t.said[machine.Name]
	if len(said) == 0 || said[len(said)-1] != updating.Message {
		t.said[machine.Name] = append(said, updating.Message)
	}
}

// of returns the recorded transitions, by Machine.
func (t *transitions) of() map[string][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	copied := map[string][]string{}
	for name, said := range t.said {
		copied[name] = append([]string{}, said...)
	}
	return copied
}
