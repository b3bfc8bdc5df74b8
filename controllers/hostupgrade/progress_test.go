// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = DescribeTable("hostChanged", func(change func(*infrav1.ElementalHost), passes bool) {
	before := &infrav1.ElementalHost{Status: infrav1.ElementalHostStatus{Upgrade: &infrav1.HostUpgradeStatus{
		Attempt: "a", Phase: infrav1.HostUpgradeApplying, Progress: &infrav1.HostUpgradeProgress{Stage: "Write", Bytes: 1},
	}}}
	after := before.DeepCopy()
	after.ResourceVersion, after.Status.Agent.LastSeen = "2", metav1.NewTime(time.Unix(1, 0))
	change(after)
	Expect(hostChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(passes))
},
	Entry("progress wakes no attempt", func(h *infrav1.ElementalHost) { h.Status.Upgrade.Progress.Bytes = 2 }, false),
	Entry("nor does its end", func(h *infrav1.ElementalHost) { h.Status.Upgrade.Progress = nil }, false),
	Entry("nor do its conditions", func(h *infrav1.ElementalHost) { h.Status.Conditions = []metav1.Condition{{Type: "Ready"}} }, false),
	Entry("a phase does", func(h *infrav1.ElementalHost) { h.Status.Upgrade.Phase = infrav1.HostUpgradeRebooting }, true),
	Entry("a label does", func(h *infrav1.ElementalHost) { h.Labels = map[string]string{"a": "b"} }, true),
	Entry("what is asked of it does", func(h *infrav1.ElementalHost) { h.Spec.Approved = true }, true),
)

var _ = DescribeTable("recordProgress", func(progress *infrav1.HostUpgradeProgress, ended infrav1.UpgradePhase, expected string) {
	o := typical(reported(infrav1.HostUpgradeFetching), func(o *observation) {
		o.host.Status.Upgrade.Progress, o.upgrade.Status.Phase = progress, ended
		o.upgrade.Status.Progress = "former"
		if ended != "" {
			o.upgrade.Status.Step, o.upgrade.Status.StepIndex, o.upgrade.Status.StepCount = "Prefetch", 2, 14
		}
	})
	o.recordProgress()
	Expect(o.upgrade.Status.Progress).To(Equal(expected))
},
	Entry("of a known size", &infrav1.HostUpgradeProgress{Stage: "Download", Bytes: 412<<20 + 1, TotalBytes: 1 << 30}, infrav1.UpgradeProgressing,
		"2/14, Download: 412 of 1024 MiB"),
	Entry("of a size that nobody knows", &infrav1.HostUpgradeProgress{Stage: "Write", Bytes: 812 << 20}, infrav1.UpgradeProgressing, "2/14, Write: 812 MiB"),
	Entry("none", nil, infrav1.UpgradeProgressing, "2/14"),
	Entry("of an attempt that has not come to a step", &infrav1.HostUpgradeProgress{Stage: "Download", Bytes: 1 << 20}, infrav1.UpgradePhase(""), ""),
	Entry("of an attempt that has ended", &infrav1.HostUpgradeProgress{Stage: "Download", Bytes: 1 << 20}, infrav1.UpgradeAborted, ""),
)
