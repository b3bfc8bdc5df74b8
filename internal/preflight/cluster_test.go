// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hoststate"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/observed"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

const (
	blocks = infrav1.PreflightBlock
	warns  = infrav1.PreflightWarn
)

type change = func(*Snapshot, *Subject)

// findings are what a check found, one "Verdict Object: message" each.
func findings(run checkFunc, changes ...change) []string {
	lines := []string{}
	for _, result := range run(typical(changes...)) {
		lines = append(lines, fmt.Sprintf("%s %s", result.Verdict, Line(result)))
	}
	return lines
}

var _ = DescribeTable("a check of the cluster", func(run checkFunc, expected []string, changes ...change) {
	Expect(findings(run, changes...)).To(HaveExactElements(expected))
},
	Entry("no maintenance", checkMaintenance, nil),
	Entry("the node is in Harvester's maintenance mode", checkMaintenance,
		[]string{"Block Node/n: is in maintenance (annotation harvesterhci.io/maintain-status): end that to let its upgrade start"},
		func(_ *Snapshot, subject *Subject) {
			subject.Node.Annotations = map[string]string{harvesterMaintenance: "running"}
		}),
	Entry("another node is in medik8s' maintenance", checkMaintenance,
		[]string{"Block Node/other: is in maintenance (taint medik8s.io/drain) and may go down at any time: end that before another node goes down"},
		withNode("other", func(node *corev1.Node) { node.Spec.Taints = []corev1.Taint{{Key: medik8sDrain}} })),
	Entry("another taint", checkMaintenance, nil,
		withNode("other", func(node *corev1.Node) { node.Spec.Taints = []corev1.Taint{{Key: "gpu"}} })),

	Entry("all Machines Running", checkMachines, nil, withMachine("x", clusterv1.MachinePhaseRunning)),
	Entry("another Machine is upgraded too", checkMachines, nil, withMachine("x", clusterv1.MachinePhaseUpdating)),
	Entry("a Machine of which nobody has said anything", checkMachines, nil, withMachine("x", "")),
	Entry("a Machine is being made", checkMachines,
		[]string{"Block Machine/x: is Provisioned and not Running yet: wait until its node has joined, or delete it"},
		withMachine("x", clusterv1.MachinePhaseProvisioned), withHost("x")),
	Entry("a Machine waits for a host", checkMachines, []string{"Warn Machine/x: is Provisioning and has no host yet"},
		withMachine("x", clusterv1.MachinePhaseProvisioning)),
	Entry("a Machine is being deleted, and its node still serves", checkMachines,
		[]string{"Warn Machine/x: is being deleted and its node has not gone: see what its condition Deleting waits for"},
		withMachine("x", clusterv1.MachinePhaseDeleting), withNode("node-x", func(*corev1.Node) {})),
	Entry("a Machine is being deleted whose node is lost", checkMachines, []string{"Warn Machine/x: is being deleted"},
		withMachine("x", clusterv1.MachinePhaseDeleting), withNode("node-x", func(node *corev1.Node) { node.Status.Conditions = nil })),
	Entry("a Machine is being deleted whose node is gone", checkMachines, []string{"Warn Machine/x: is being deleted"},
		withMachine("x", clusterv1.MachinePhaseDeleting)),
	Entry("the Machine itself", checkMachines, nil, func(s *Snapshot, _ *Subject) {
		s.Machines[0].Status.Phase = string(clusterv1.MachinePhaseDeleting)
	}),

	Entry("certificates of which nothing is known", checkCertificates, nil, expires(0)),
	Entry("certificates for long", checkCertificates, nil, expires(31*day)),
	Entry("certificates for 30 days", checkCertificates, nil, expires(30*day)),
	Entry("certificates for a month", checkCertificates,
		[]string{"Warn Machine/cp: has certificates that expire on 2026-03-30: " + renewalMessage}, expires(29*day)),
	Entry("certificates for 7 days", checkCertificates,
		[]string{"Warn Machine/cp: has certificates that expire on 2026-03-08: " + renewalMessage}, expires(7*day)),
	Entry("certificates for a week", checkCertificates,
		[]string{"Block Machine/cp: has certificates that expire on 2026-03-07, in less than 7 days: " + renewalMessage}, expires(6*day)),
	Entry("certificates that expire now", checkCertificates,
		[]string{"Block Machine/cp: has certificates that expired on 2026-03-02: " + renewalMessage}, expires(day), func(s *Snapshot, _ *Subject) { s.Now = s.Now.Add(day) }),
	Entry("certificates that have expired", checkCertificates,
		[]string{"Block Machine/cp: has certificates that expired on 2026-02-28: " + renewalMessage}, expires(-day)),

	Entry("nobody else upgrades", checkOtherUpgrades, nil, withHost("x")),
	Entry("another host is upgraded by hand", checkOtherUpgrades,
		[]string{"Block ElementalHost/x: is being upgraded by hand: wait until its label " + infrav1.InPlaceUpgradeLabel + " says how that ended"},
		withHost("x"), byHand(1)),
	Entry("another host is upgraded by an attempt", checkOtherUpgrades, nil, withHost("x"), byHand(1), func(s *Snapshot, _ *Subject) {
		s.Hosts[1].Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "u/1"}
	}),
	Entry("another host was upgraded by hand", checkOtherUpgrades, nil, withHost("x"), byHand(1), func(s *Snapshot, _ *Subject) { s.Hosts[1].Labels = nil }),
	Entry("the host itself", checkOtherUpgrades, nil, byHand(0)),
	Entry("others change nodes", checkOtherUpgrades,
		[]string{"Block Plan/system/agents: system-upgrade-controller is changing nodes: wait until that is done"},
		func(s *Snapshot, _ *Subject) {
			s.Foreign = []workload.Job{{Object: "Plan/system/agents", Doing: "system-upgrade-controller is changing nodes"}}
		}),

	Entry("no backup", checkBackups, nil),
	Entry("a snapshot and a restore", checkBackups, []string{
		"Block VolumeSnapshot/default/daily: a snapshot is being taken: wait until that is done, or delete it",
		"Block VirtualMachineRestore/default/r: a virtual machine is being restored: wait until that is done, or delete it",
	}, func(s *Snapshot, _ *Subject) {
		s.Jobs = []workload.Job{
			{Object: "VolumeSnapshot/default/daily", Doing: "a snapshot is being taken"},
			{Object: "VirtualMachineRestore/default/r", Doing: "a virtual machine is being restored"},
		}
	}),
)

// withNode adds a Ready node, changed.
func withNode(name string, changed func(*corev1.Node)) change {
	return func(s *Snapshot, subject *Subject) {
		node := newNode(name)
		changed(node)
		s.Nodes = append(s.Nodes, *node)
		subject.Node = &s.Nodes[0]
	}
}

// withMachine adds a Machine, whose node is node-NAME.
func withMachine(name string, phase clusterv1.MachinePhase) change {
	return func(s *Snapshot, _ *Subject) {
		machine := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
		machine.Spec.InfrastructureRef.Name = "em-" + name
		machine.Status.Phase, machine.Status.NodeRef.Name = string(phase), "node-"+name
		s.Machines = append(s.Machines, machine)
	}
}

// withHost adds the subject's host and one that serves the Machine of the name.
func withHost(name string) change {
	return func(s *Snapshot, subject *Subject) {
		other := infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Name: name}}
		other.Spec.MachineRef = &infrav1.LocalReference{Name: "em-" + name}
		s.Hosts = append(s.Hosts, *subject.Host, other)
	}
}

// byHand triggers a host as a person does.
func byHand(index int) change {
	return func(s *Snapshot, subject *Subject) {
		if len(s.Hosts) == 0 {
			s.Hosts = append(s.Hosts, *subject.Host)
		}
		host := &s.Hosts[index]
		host.Labels = map[string]string{infrav1.InPlaceUpgradeLabel: infrav1.InPlaceUpgradePending}
		host.Spec.OSVersionManagement = osversion.OfImage("new")
		Expect(hoststate.Unmanaged(hoststate.CurrentAttempt(host))).To(BeTrue())
	}
}

func expires(after time.Duration) change {
	return func(s *Snapshot, subject *Subject) {
		withMachine("cp", clusterv1.MachinePhaseRunning)(s, subject)
		machine := &s.Machines[len(s.Machines)-1]
		machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
		if after != 0 {
			machine.Status.CertificatesExpiryDate = metav1.NewTime(s.Now.Add(after))
		}
	}
}

var _ = DescribeTable("a heartbeat", func(expected Heartbeat, since, after time.Duration) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	renewal := observed.Change{Since: now.Add(-since)}
	if after > 0 {
		renewal.After = now.Add(-after)
	}
	Expect(heartbeat(renewal, now)).To(Equal(expected))
},
	Entry("that was looked for once", Awaited, time.Duration(0), time.Duration(0)),
	Entry("that was looked for, for not long enough", Awaited, silentAfter, time.Duration(0)),
	Entry("that does not come", Silent, silentAfter+1, time.Duration(0)),
	Entry("that was just seen", Beating, time.Duration(0), 5*time.Second),
	Entry("that was seen, and may be as old as the limit", Beating, 20*time.Second, silentAfter),
	Entry("that was seen, and may be older", Awaited, 20*time.Second, silentAfter+1),
	Entry("that was seen long after the look before", Awaited, time.Duration(0), time.Hour),
	Entry("that has stopped", Silent, silentAfter+1, 30*time.Second),
)

var _ = DescribeTable("A control plane node counts for the quorum by the heartbeat of its kubelet", func(message string, edit func(map[string]Heartbeat)) {
	s, subject := typical()
	s.Machines = nil
	for _, name := range []string{"a", "b", "c"} {
		expires(0)(s, subject)
		withNode("node-"+name, func(*corev1.Node) {})(s, subject)
		machine := &s.Machines[len(s.Machines)-1]
		machine.Name, machine.Status.NodeRef.Name = name, "node-"+name
	}
	subject.Machine = &s.Machines[0]
	s.Heartbeats = map[string]Heartbeat{}
	edit(s.Heartbeats)
	found := checkQuorum(s, subject)
	if message == "" {
		Expect(found).To(BeEmpty())
		return
	}
	Expect(found).To(HaveExactElements(And(
		HaveField("Verdict", blocks),
		HaveField("Message", "has 3 control plane nodes and etcd needs 2 of them while this one is down"+message),
	)))
},
	Entry("none has a Lease", "", func(map[string]Heartbeat) {}),
	Entry("the own one does not count", "", func(h map[string]Heartbeat) { h["node-a"] = Silent }),
	Entry("one is silent", ", but the kubelet of Machine c is silent: bring them back first", func(h map[string]Heartbeat) { h["node-c"] = Silent }),
	Entry("one is awaited", ": waiting for a heartbeat of Machine c", func(h map[string]Heartbeat) { h["node-c"] = Awaited }),
	Entry("both are awaited", ": waiting for a heartbeat of Machine b, c",
		func(h map[string]Heartbeat) { h["node-b"], h["node-c"] = Awaited, Awaited }),
	Entry("what is wrong for certain is said first", ", but the kubelet of Machine b is silent: bring them back first",
		func(h map[string]Heartbeat) { h["node-b"], h["node-c"] = Silent, Awaited }),
)

var _ = DescribeTable("a job is done", func(isDone func(map[string]any) bool, expected bool, object map[string]any) {
	Expect(isDone(object)).To(Equal(expected))
},
	Entry("a Plan", isPlanIdle, true, map[string]any{}),
	Entry("a Plan at work", isPlanIdle, false, map[string]any{"status": map[string]any{"applying": []any{"n"}}}),
	Entry("an Upgrade of Harvester", isHarvesterUpgraded, false, upgradeState("UpgradingNodes")),
	Entry("an Upgrade of Harvester that failed", isHarvesterUpgraded, true, upgradeState("Failed")),
	Entry("a former Upgrade of Harvester", isHarvesterUpgraded, true, upgradeState("Succeeded")),
)

func upgradeState(state string) map[string]any {
	return map[string]any{"metadata": map[string]any{"labels": map[string]any{"harvesterhci.io/upgradeState": state}}}
}
