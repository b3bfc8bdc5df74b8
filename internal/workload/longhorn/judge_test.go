// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package longhorn_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/longhorn"
)

// went is when node a went down.
var went = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type change = func(*longhorn.Volume)

// volume is attached to node a, healthy, with replicas on a and b.
func volume(changes ...change) longhorn.Volume {
	v := longhorn.Volume{
		Name: "v", Wanted: 2, State: longhorn.Attached, Robustness: longhorn.Healthy, Node: "a",
		Replicas: []longhorn.Replica{{Name: "v-a", Node: "a", Healthy: true}, {Name: "v-b", Node: "b", Healthy: true}},
	}
	for _, change := range changes {
		change(&v)
	}
	return v
}

func single(v *longhorn.Volume) { v.Wanted, v.Replicas = 1, v.Replicas[:1] }
func detached(v *longhorn.Volume) {
	v.State, v.Robustness, v.Node = "detached", "unknown", ""
}
func faulted(v *longhorn.Volume)   { v.State, v.Robustness = "detached", longhorn.Faulted }
func elsewhere(v *longhorn.Volume) { v.Node = "c" }
func usedByVM(v *longhorn.Volume)  { v.Workloads = []string{"VirtualMachineInstance vm"} }

// fails lets the replica on a node fail.
func fails(node string, at time.Time) change {
	return func(v *longhorn.Volume) {
		v.Robustness = longhorn.Degraded
		for i := range v.Replicas {
			if v.Replicas[i].Node == node {
				v.Replicas[i].Healthy, v.Replicas[i].FailedAt = false, at
			}
		}
	}
}

func rebuilding(node string) change {
	return func(v *longhorn.Volume) {
		fails(node, time.Time{})(v)
		for i := range v.Replicas {
			v.Replicas[i].Rebuilding = v.Replicas[i].Node == node
		}
	}
}

// whole is a volume that Longhorn has rebuilt elsewhere. The replica that failed stays for as long as a day.
func whole(v *longhorn.Volume) {
	v.Robustness = longhorn.Healthy
	v.Replicas = append(v.Replicas, longhorn.Replica{Name: "v-c", Node: "c", Healthy: true})
}

func degradedAt(at time.Time) change {
	return func(v *longhorn.Volume) { v.Robustness, v.DegradedAt = longhorn.Degraded, at }
}

var (
	earlier = went.Add(-time.Hour)
	later   = went.Add(time.Minute)
	// behind is later by a clock that is ten minutes behind.
	behind = went.Add(-10 * time.Minute)
)

var _ = DescribeTable("What hangs on node a", func(v longhorn.Volume, last, degraded, singles, attached bool) {
	s := &longhorn.Snapshot{Volumes: []longhorn.Volume{v}}
	Expect(s.LastHealthyOn("a")).To(HaveLen(count(last)), "last healthy replica")
	Expect(s.DegradedOn("a")).To(HaveLen(count(degraded)), "degraded")
	Expect(s.SingleReplicaOn("a")).To(HaveLen(count(singles)), "single replica in use")
	Expect(s.AttachedTo("a")).To(HaveLen(count(attached)), "attached")
},
	Entry("a healthy volume that is in use there", volume(), false, false, false, true),
	Entry("a healthy volume that is in use elsewhere", volume(elsewhere), false, false, false, false),
	Entry("a healthy volume that is detached", volume(detached), false, false, false, false),
	Entry("a volume that is being detached", volume(func(v *longhorn.Volume) { v.State = "detaching" }), false, false, false, false),
	Entry("a volume whose other replica failed", volume(elsewhere, fails("b", earlier)), true, true, false, false),
	Entry("a volume whose own replica failed", volume(elsewhere, fails("a", earlier)), false, false, false, false),
	Entry("a volume whose own replica is rebuilt", volume(elsewhere, rebuilding("a")), false, true, false, false),
	Entry("a volume whose other replica is rebuilt", volume(elsewhere, rebuilding("b")), true, true, false, false),
	Entry("a single replica in use there", volume(single), true, false, true, true),
	Entry("a single replica in use elsewhere", volume(single, elsewhere), true, false, true, false),
	Entry("a single replica that a stopping virtual machine still claims", volume(single, detached, usedByVM), true, false, true, false),
	Entry("a single replica that nobody uses", volume(single, detached), true, false, false, false),
	Entry("two replicas on the one node", volume(elsewhere, func(v *longhorn.Volume) { v.Replicas[1].Node = "a" }), true, false, false, false),
	Entry("no healthy replica at all", volume(elsewhere, fails("a", earlier), fails("b", earlier)), false, false, false, false),
)

var _ = DescribeTable("What node a still waits for after its upgrade", func(waits bool, changes ...change) {
	s := &longhorn.Snapshot{Volumes: []longhorn.Volume{volume(changes...)}}
	Expect(s.Unsettled("a", went)).To(HaveLen(count(waits)))
},
	Entry("nothing of a healthy volume", false),
	Entry("not a failed replica that was left where the volume is whole again", false, fails("a", later), whole),
	Entry("not a replica of which nobody knows when it failed, where the volume is whole", false, fails("a", time.Time{}), whole),
	Entry("a failed replica of a volume that is not whole again", true, fails("a", later)),
	Entry("a volume that was degraded by it", true, fails("a", later), degradedAt(later)),
	Entry("a failed replica, by a clock that is behind", true, fails("a", behind)),
	Entry("not one that had failed before, whatever the clock", false, fails("a", behind.Add(-1)), degradedAt(behind.Add(-1))),
	Entry("a volume that was degraded by it, by a clock that is behind", true, rebuilding("a"), degradedAt(behind)),
	Entry("a volume that was degraded by it, by a clock that is ahead", true, rebuilding("a"), degradedAt(later.Add(8*time.Hour))),
	Entry("a rebuild", true, rebuilding("a"), degradedAt(later)),
	Entry("a volume that was degraded meanwhile, by another node", true, fails("b", later), degradedAt(later)),
	Entry("not a volume that was degraded before by another node, once its own replica is back", false, fails("b", earlier), degradedAt(earlier)),
	Entry("its own replica of a volume that was degraded before", true, fails("b", earlier), fails("a", later), degradedAt(earlier)),
	Entry("the rebuild of its own replica of a volume that was degraded before", true, fails("b", earlier), rebuilding("a"), degradedAt(earlier)),
	Entry("not its own replica that had failed before", false, fails("a", earlier), degradedAt(earlier)),
	Entry("a degraded volume of which nobody knows since when", true, fails("b", earlier), degradedAt(time.Time{})),
	Entry("not a detached volume, of which nothing is rebuilt", false, fails("a", later), detached),
	Entry("a volume that it faulted", true, single, fails("a", later), faulted),
	Entry("not a volume that was faulted before", false, single, fails("a", earlier), faulted),
	Entry("not a volume that has no replica there", false, fails("b", later), degradedAt(later), func(v *longhorn.Volume) { v.Replicas = v.Replicas[1:] }),
)

var _ = DescribeTable("A volume that wants more replicas than nodes can hold is degraded anew after every reboot", func(waits bool, holders []string, changes ...change) {
	s := &longhorn.Snapshot{Holders: holders, Volumes: []longhorn.Volume{volume(append(changes, degradedAt(later), func(v *longhorn.Volume) { v.Wanted = 3 })...)}}
	Expect(s.Unsettled("a", went)).To(HaveLen(count(waits)))
},
	Entry("and is waited for where a third node could hold one", true, []string{"a", "b", "c"}),
	Entry("and is waited for where nodes are not known", true, nil),
	Entry("and is not waited for on two", false, []string{"a", "b"}),
	Entry("but its own replica is", true, []string{"a", "b"}, fails("a", later)),
)

var _ = It("A cluster without Longhorn endangers nothing", func() {
	var none *longhorn.Snapshot
	Expect(none.LastHealthyOn("a")).To(BeEmpty())
	Expect(none.Unsettled("a", went)).To(BeEmpty())
	Expect(none.AttachedTo("a")).To(BeEmpty())
})

var _ = It("Names are sorted, and name claims", func() {
	Expect(longhorn.Names([]longhorn.Volume{{Name: "pvc-2"}, {Name: "pvc-1", Claim: "default/data"}})).To(
		Equal("pvc-1 (PersistentVolumeClaim default/data), pvc-2"))
})

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
