// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight"
)

// subject is a worker, or a control plane node of an age in hours.
func subject(name string, age int) *preflight.Subject {
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if age > 0 {
		machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		machine.CreationTimestamp = metav1.NewTime(time.Unix(0, 0).Add(-time.Duration(age) * time.Hour))
	}
	return &preflight.Subject{Machine: machine, Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + name}}}
}

func outlook(subjects ...*preflight.Subject) *Outlook {
	return &Outlook{
		Cluster:  &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge"}},
		Options:  infrav1.NodeUpgradeOption{}.WithDefaults(),
		Subjects: subjects,
	}
}

var _ = It("The order is that of the control plane by age, and then workers by name", func() {
	subjects := []*preflight.Subject{subject("w2", 0), subject("young", 1), subject("w1", 0), subject("old", 2)}
	slices.SortStableFunc(subjects, inOrder)
	names := []string{}
	for _, s := range subjects {
		names = append(names, s.Machine.Name)
	}
	Expect(names).To(HaveExactElements("old", "young", "w1", "w2"))
})

var _ = Describe("The plan", func() {
	It("says the nodes, which pause, and what is waited for", func() {
		seen := outlook(subject("a", 0), subject("b", 0))
		seen.Subjects[0].Node.Annotations = map[string]string{infrav1.NodeUpgradePauseAnnotation: "lunch"}
		seen.Options.Strategy = infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual, PauseNodes: []string{"node-b"}}
		seen.Results = []infrav1.PreflightResult{
			{Check: "X", Verdict: infrav1.PreflightBlock, Object: "Node/a", Message: "is wrong"},
			{Check: "Y", Verdict: infrav1.PreflightWarn, Object: "Node/b", Message: "is odd"},
		}
		Expect(seen.Plan()).To(HaveExactElements(
			"Cluster edge: 2 nodes to upgrade, 1 at a time",
			"1. Node node-a: is paused, and waits until its annotation "+infrav1.NodeUpgradePauseAnnotation+" is removed",
			"2. Node node-b: will pause by nodeUpgradeOption.strategy, and wait until its annotation "+infrav1.NodeUpgradePauseAnnotation+" is removed",
			"Waits for Node/a: is wrong [X]",
			"Beware of Node/b: is odd [Y]",
		))
		Expect(seen.Warnings()).To(HaveExactElements("Beware of Node/b: is odd [Y]"))
	})

	It("says what becomes of virtual machines, first of those that block", func() {
		seen := outlook(subject("a", 0))
		seen.Decisions = map[string][]infrav1.VirtualMachineStatus{"node-a": {
			{Namespace: "default", Name: "done", Decision: infrav1.VMIgnore, Reason: "it has ended"},
			{Namespace: "default", Name: "moves", Decision: infrav1.VMMigrate, Reason: "it can be live-migrated"},
			{Namespace: "default", Name: "stays", Decision: infrav1.VMBlock, Reason: "it cannot be live-migrated"},
			{Namespace: "default", Name: "stops", Decision: infrav1.VMShutdownAndRestore, Reason: "its label says so"},
		}}
		Expect(seen.Plan()[1]).To(Equal("1. Node node-a; virtual machines: default/stays blocks (it cannot be live-migrated), " +
			"default/moves migrates, default/stops is shut down and restored"))
	})

	It("has no line that an API server would cut", func() {
		seen := outlook()
		seen.Results = []infrav1.PreflightResult{{Check: "X", Verdict: infrav1.PreflightBlock, Object: "Node/a", Message: strings.Repeat("ä", 300)}}
		last := []rune(seen.Plan()[1])
		Expect(last).To(HaveLen(256))
		Expect(string(last)).To(HaveSuffix("ä..."))
	})
})
