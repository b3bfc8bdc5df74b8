// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

// history records every version of the cluster's Machines and hosts. Their resourceVersions are ordered, because they
// are from one etcd.
type history struct {
	mu       sync.Mutex
	machines []*clusterv1.Machine
	hosts    []*infrav1.ElementalHost
}

// recordHistory records from now on, until the spec ends.
func recordHistory(ctx context.Context, cluster *scenario.Cluster) *history {
	GinkgoHelper()
	h := &history{}
	for _, list := range []client.ObjectList{&clusterv1.MachineList{}, &infrav1.ElementalHostList{}} {
		suite.Follow(ctx, cluster.Lab.Kube, list, func(event watch.Event) bool {
			h.record(event)
			return false
		}, client.InNamespace(cluster.Namespace()))
	}
	return h
}

func (h *history) record(event watch.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch object := event.Object.(type) {
	case *clusterv1.Machine:
		h.machines = append(h.machines, object)
	case *infrav1.ElementalHost:
		h.hosts = append(h.hosts, object)
	}
}

// moment is when the node of a Machine was about to be disrupted, or its host was triggered.
type moment struct {
	what, machine string
	version       int64
}

func (m moment) String() string { return m.what + " of " + m.machine }

// moments are the starts of disruptions, before each of which an attempt marks its Machine, and the triggers.
func (h *history) moments() (starts, triggers []moment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	marked, pending := map[string]bool{}, map[string]bool{}
	for _, machine := range h.machines {
		_, is := machine.Annotations[infrav1.SkipRemediationByAnnotation]
		if is && !marked[machine.Name] {
			starts = append(starts, moment{"start", machine.Name, versionOf(machine)})
		}
		marked[machine.Name] = is
	}
	for _, host := range h.hosts {
		is := host.Labels[infrav1.InPlaceUpgradeLabel] == infrav1.InPlaceUpgradePending
		if is && !pending[host.Name] {
			triggers = append(triggers, moment{"trigger", host.Labels[infrav1.MachineNameLabel], versionOf(host)})
		}
		pending[host.Name] = is
	}
	return starts, triggers
}

// unhealthyAt lists the conditions of KubeadmControlPlane on the other Machines that were not True at a moment.
func (h *history) unhealthyAt(at moment) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := map[string]*clusterv1.Machine{}
	for _, machine := range h.machines {
		if machine.Name != at.machine && versionOf(machine) < at.version {
			last[machine.Name] = machine
		}
	}
	found := []string{}
	for name, machine := range last {
		for _, condition := range []string{"APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy", "EtcdPodHealthy", "EtcdMemberHealthy"} {
			if !conditions.IsTrue(machine, condition) {
				found = append(found, fmt.Sprintf("%s of %s: %+v", condition, name, conditions.Get(machine, condition)))
			}
		}
	}
	return found
}

// wentDown lists the Machines for which KubeadmControlPlane ever reported an unhealthy Pod.
func (h *history) wentDown() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := map[string]bool{}
	for _, machine := range h.machines {
		if conditions.IsFalse(machine, "EtcdPodHealthy") {
			found[machine.Name] = true
		}
	}
	return found
}

func versionOf(object client.Object) int64 {
	GinkgoHelper()
	version, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	Expect(err).NotTo(HaveOccurred())
	return version
}
