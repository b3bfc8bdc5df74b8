// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pausing_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
)

func attemptOn(node, step string) *infrav1.ElementalHostUpgrade {
	attempt := &infrav1.ElementalHostUpgrade{}
	attempt.Status.NodeName, attempt.Status.Step = node, step
	return attempt
}

var _ = DescribeTable("Blocking", func(expected []string, unfinished ...*infrav1.ElementalHostUpgrade) {
	nodes := []string{}
	for _, attempt := range pausing.Blocking(unfinished, func(u *infrav1.ElementalHostUpgrade) bool { return u.Status.Step == "paused" }) {
		nodes = append(nodes, attempt.Status.NodeName)
	}
	Expect(nodes).To(Equal(expected))
},
	Entry("nobody", []string{}),
	Entry("one that is paused", []string{"a"}, attemptOn("a", "paused")),
	Entry("all that are paused, in order", []string{"a", "b"}, attemptOn("b", "paused"), attemptOn("a", "paused")),
	Entry("none while another is under way", []string{}, attemptOn("a", "paused"), attemptOn("b", "draining")),
)

var _ = DescribeTable("Pool", func(labels map[string]string, expected string) {
	Expect(pausing.Pool(labels)).To(Equal(expected))
},
	Entry("of a MachineDeployment", map[string]string{clusterv1.MachineDeploymentNameLabel: "workers"}, "MachineDeployment/workers"),
	Entry("of a control plane", map[string]string{clusterv1.MachineControlPlaneNameLabel: "plane"}, "ControlPlane/plane"),
	Entry("of nobody", nil, ""),
)
