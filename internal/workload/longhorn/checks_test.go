// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

var _ = DescribeTable("the check of volumes", func(expected []string, changes ...func(*Snapshot)) {
	s := &Snapshot{}
	for _, change := range changes {
		change(s)
	}
	lines := []string{}
	for _, result := range checkVolumes(s, workload.Question{Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}) {
		lines = append(lines, fmt.Sprintf("%s %s: %s", result.Verdict, result.Object, result.Message))
	}
	Expect(lines).To(HaveExactElements(expected))
},
	Entry("a healthy volume", nil, withVolume("n", "o")),
	Entry("a volume that is degraded elsewhere", nil, withVolume("o", "p"), degraded),
	Entry("a degraded volume with a replica on the node",
		[]string{"Block Volume/pv-1 (PersistentVolumeClaim default/disk): is degraded and has a replica on Node n: " +
			"wait until Longhorn has rebuilt it, or take what uses it out of service"},
		withVolume("n", "o"), degraded),
	Entry("a degraded volume with its last healthy replica on the node",
		[]string{"Block Volume/pv-1 (PersistentVolumeClaim default/disk): is degraded and has a replica on Node n: " +
			"wait until Longhorn has rebuilt it, or take what uses it out of service"},
		withVolume("n", "n"), degraded),
	Entry("a volume with one replica, which is on the node",
		[]string{"Block Volume/pv-1 (PersistentVolumeClaim default/disk): has its only replica on Node n and is in use: give it another replica, or stop what uses it"},
		withVolume("n"), wanted(1)),
	Entry("a volume with one replica, which is elsewhere", nil, withVolume("o"), wanted(1)),
	Entry("a volume with one replica that nobody uses",
		[]string{"Warn Volume/pv-1 (PersistentVolumeClaim default/disk): has its only healthy replica on Node n and cannot be attached while that is down"},
		withVolume("n"), wanted(1), detached),
	Entry("all healthy replicas on the node",
		[]string{"Block Volume/pv-1 (PersistentVolumeClaim default/disk): has its only healthy replica on Node n: wait until Longhorn has rebuilt another, or stop what uses it"},
		withVolume("n", "n"), wanted(2)),
)

var _ = DescribeTable("the check of volumes asks for no replica that no node can hold", func(nodes []string, expected string, changes ...func(*Snapshot)) {
	s := &Snapshot{}
	for _, change := range changes {
		change(s)
	}
	q := workload.Question{Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
	for _, name := range nodes {
		q.Nodes = append(q.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	found := checkVolumes(s, q)
	Expect(found).To(HaveLen(1))
	Expect(string(found[0].Verdict) + ": " + found[0].Message).To(HavePrefix(expected))
},
	Entry("one node, a single replica in use", []string{"n"}, "Warn: "+goesDown, withVolume("n"), wanted(1)),
	Entry("one node, three replicas wanted", []string{"n"}, "Warn: "+goesDown, withVolume("n"), wanted(3), degraded),
	Entry("one node, all replicas on it", []string{"n"}, "Warn: "+goesDown, withVolume("n", "n"), wanted(2)),
	Entry("one node that Longhorn uses, of three", []string{"n", "o", "p"}, "Warn: "+goesDown, withVolume("n"), wanted(3), degraded, holders("n")),
	Entry("two nodes, a single replica in use", []string{"n", "o"}, "Block: has its only replica", withVolume("n"), wanted(1)),
	Entry("two nodes, three replicas wanted, two there", []string{"n", "o"},
		"Warn: wants 3 replicas and 2 nodes can hold one: while Node n is down, its data is on Node o only", withVolume("n", "o"), wanted(3), degraded),
	Entry("two nodes, three replicas wanted, one there", []string{"n", "o"}, "Block: is degraded", withVolume("n"), wanted(3), degraded),
	Entry("two nodes that Longhorn uses, of three, three replicas wanted", []string{"n", "o", "p"},
		"Warn: wants 3 replicas and 2 nodes can hold one", withVolume("n", "o"), wanted(3), degraded, holders("n", "o")),
	Entry("two nodes, all replicas on one", []string{"n", "o"}, "Block: has its only healthy replica", withVolume("n", "n"), wanted(2)),
	Entry("three nodes, three replicas wanted, two there", []string{"n", "o", "p"}, "Block: is degraded", withVolume("n", "o"), wanted(3), degraded),
	Entry("two nodes, a replica on a third", []string{"n", "o"}, "Block: is degraded", withVolume("n", "o", "p"), degraded),
	Entry("one node that Longhorn uses, another that goes down", []string{"n", "o"}, "Block: is degraded", withVolume("n"), wanted(2), degraded, holders("o")),
)

var _ = DescribeTable("the check of volumes counts no data of a node that goes down, too", func(isAdmitted bool, expected string) {
	s := &Snapshot{}
	withVolume("n", "o")(s)
	wanted(3)(s)
	degraded(s)
	q := workload.Question{Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, Upgrading: sets.New("o"), Admitted: isAdmitted}
	for _, name := range []string{"n", "o"} {
		q.Nodes = append(q.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	found := checkVolumes(s, q)
	Expect(found).To(HaveLen(1))
	Expect(string(found[0].Verdict) + ": " + found[0].Message).To(HavePrefix(expected))
},
	Entry("before its slot is taken", false, "Block: is degraded"),
	Entry("when both have theirs", true, "Warn: wants 3 replicas"),
)

const goesDown = "can have replicas on Node n only, and what uses it is down until that is back"

// holders are the nodes that Longhorn uses.
func holders(nodes ...string) func(*Snapshot) { return func(s *Snapshot) { s.Holders = nodes } }

// withVolume adds a volume that is attached to the first of the nodes that have healthy replicas of it.
func withVolume(nodes ...string) func(*Snapshot) {
	return func(s *Snapshot) {
		volume := Volume{
			Name: "pv-1", Claim: "default/disk", Wanted: len(nodes), State: Attached, Robustness: Healthy, Node: nodes[0],
		}
		for _, node := range nodes {
			volume.Replicas = append(volume.Replicas, Replica{Name: "r-" + node, Node: node, Healthy: true})
		}
		s.Volumes = []Volume{volume}
	}
}

func degraded(s *Snapshot) { s.Volumes[0].Robustness = Degraded }
func detached(s *Snapshot) {
	s.Volumes[0].State, s.Volumes[0].Node = "detached", ""
}

func wanted(replicas int) func(*Snapshot) {
	return func(s *Snapshot) { s.Volumes[0].Wanted = replicas }
}
