// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ran is an attempt of an hour of the day whose steps took that long, in their order. One of zero has begun, and is not done.
func ran(hour int, steps []string, took ...time.Duration) infrav1.ElementalHostUpgrade {
	at := noon.Add(time.Duration(hour) * time.Hour)
	upgrade := infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Name: at.String(), CreationTimestamp: metav1.NewTime(at)}}
	for i, name := range steps {
		step := infrav1.UpgradeStepStatus{Name: name, StartTime: metav1.NewTime(at)}
		if took[i] > 0 {
			at = at.Add(took[i])
			step.CompletionTime = &metav1.Time{Time: at}
		}
		upgrade.Status.Steps = append(upgrade.Status.Steps, step)
	}
	return upgrade
}

var _ = DescribeTable("Outage", func(expected time.Duration, among ...infrav1.ElementalHostUpgrade) {
	Expect(attempts.Outage(among)).To(Equal(expected))
},
	Entry("no attempt", time.Duration(0)),
	Entry("from the trigger until it was assessed", 3*time.Minute,
		ran(0, []string{"Drain", "Trigger", "Reboot", "Assess", "Settle"}, time.Hour, time.Second, 2*time.Minute, time.Minute, time.Hour)),
	Entry("one whose reboot is not over", time.Duration(0), ran(0, []string{"Reboot"}, 0)),
	Entry("one that is not assessed yet, or fell back", time.Duration(0), ran(0, []string{"Reboot", "Assess"}, time.Minute, 0)),
	Entry("one whose host ran the OS already", time.Duration(0), ran(0, []string{"Assess"}, time.Minute)),
	Entry("the newest", 2*time.Minute, ran(2, []string{"Reboot", "Assess"}, time.Minute, time.Minute), ran(1, []string{"Reboot", "Assess"}, time.Hour/4, time.Minute)),
	Entry("the newest for which it is known", 2*time.Minute, ran(1, []string{"Reboot", "Assess"}, time.Minute, time.Minute), ran(2, []string{"Reboot"}, 0)),
	Entry("one that took as long as it may", 45*time.Minute, ran(0, []string{"Reboot", "Assess"}, 30*time.Minute, 15*time.Minute)),
	Entry("not one whose host was lost for hours", 2*time.Minute,
		ran(1, []string{"Reboot", "Assess"}, time.Minute, time.Minute), ran(2, []string{"Reboot", "Assess"}, 5*time.Hour, time.Minute)),
)

var _ = DescribeTable("LeftNotReady", func(expected string, change func(first, second *infrav1.ElementalHostUpgrade)) {
	booted := func(hour int, name string) infrav1.ElementalHostUpgrade {
		upgrade := ran(hour, []string{"Reboot", "Assess"}, time.Minute, 0)
		upgrade.Name, upgrade.Status.Phase = name, infrav1.UpgradeSuperseded
		return upgrade
	}
	among := []infrav1.ElementalHostUpgrade{booted(1, "first"), booted(2, "second")}
	change(&among[0], &among[1])
	found := attempts.LeftNotReady(among)
	if expected == "" {
		Expect(found).To(BeNil())
		return
	}
	Expect(found).To(HaveValue(HaveField("Name", expected)))
},
	Entry("is the last", "second", func(_, _ *infrav1.ElementalHostUpgrade) {}),
	Entry("is the last that had its host reboot", "first", func(_, second *infrav1.ElementalHostUpgrade) { second.Status.Steps = nil }),
	Entry("is none where that succeeded", "", func(_, second *infrav1.ElementalHostUpgrade) { second.Status.Phase = infrav1.UpgradeSucceeded }),
	Entry("is none where that goes on", "", func(_, second *infrav1.ElementalHostUpgrade) { second.Status.Phase = infrav1.UpgradeProgressing }),
	Entry("is none where its host has not come back", "", func(_, second *infrav1.ElementalHostUpgrade) { second.Status.Steps = second.Status.Steps[:1] }),
	Entry("is none where its host rolled back", "", func(_, second *infrav1.ElementalHostUpgrade) {
		second.Status.Conditions = []metav1.Condition{{Type: infrav1.FormerOSHealthyCondition, Status: metav1.ConditionTrue}}
	}),
)
