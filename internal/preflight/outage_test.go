// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

var _ = DescribeTable("InWords", func(took time.Duration, expected string) {
	Expect(InWords(took)).To(Equal(expected))
},
	Entry(nil, time.Second, "1 second"),
	Entry(nil, 1600*time.Millisecond, "2 seconds"),
	Entry(nil, 59*time.Second, "59 seconds"),
	Entry(nil, 59600*time.Millisecond, "1 minute"),
	Entry(nil, time.Minute, "1 minute"),
	Entry(nil, 89*time.Second, "1 minute"),
	Entry(nil, 90*time.Second, "2 minutes"),
	Entry(nil, 75*time.Minute, "75 minutes"),
)

var _ = DescribeTable("missed", func(nodes, controlPlanes int, expected ...string) {
	s, _ := typical()
	s.Machines, s.Nodes = nil, nil
	for i := range nodes {
		name := string(rune('a' + i))
		withMachine(name, clusterv1.MachinePhaseRunning)(s, nil)
		s.Nodes = append(s.Nodes, *newNode("node-" + name))
		if i < controlPlanes {
			s.Machines[i].Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		}
	}
	withMachine("joining", clusterv1.MachinePhaseProvisioning)(s, nil)
	found := []string{}
	for _, machine := range s.missed() {
		found = append(found, machine.Name)
	}
	Expect(found).To(HaveExactElements(expected))
},
	Entry("no node", 0, 0),
	Entry("one worker", 1, 0, "a"),
	Entry("one node of the control plane", 1, 1, "a"),
	Entry("two workers", 2, 0),
	Entry("a control plane of one, with a worker", 2, 1, "a"),
	Entry("a control plane of two, with a worker", 3, 2, "a", "b"),
	Entry("a control plane of three", 3, 3),
)
