// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pausing_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/pausing"
)

const (
	now    = "workers-new"
	former = "workers-former"
)

func nodeWith(annotations map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
}

func paused(value string) map[string]string {
	return map[string]string{infrav1.NodeUpgradePauseAnnotation: value}
}

func by(rollout string) map[string]string {
	return map[string]string{infrav1.PausedByAnnotation: rollout}
}

func pausedBy(value, rollout string) map[string]string {
	return map[string]string{infrav1.NodeUpgradePauseAnnotation: value, infrav1.PausedByAnnotation: rollout}
}

var _ = Describe("Decide", func() {
	byPolicy := pausing.Due{Rollout: now, ByPolicy: true}
	byNobody := pausing.Due{Rollout: now}
	approved := pausing.Due{Rollout: now, ByPolicy: true, Approved: true}

	DescribeTable("on a Node", func(annotations map[string]string, due pausing.Due, expected pausing.Action) {
		Expect(pausing.Decide(pausing.MarksOf(nodeWith(annotations)), due)).To(Equal(expected))
	},
		Entry("without marks, by policy", nil, byPolicy, pausing.Pause),
		Entry("without marks, in mode auto", nil, byNobody, pausing.Leave),
		Entry("without marks, approved", nil, approved, pausing.Leave),

		Entry("paused for this rollout", pausedBy(now, now), byPolicy, pausing.Leave),
		Entry("paused for this rollout, approved meanwhile", pausedBy(now, now), approved, pausing.Clear),
		Entry("resumed by a person", by(now), byPolicy, pausing.Approve),
		Entry("resumed by a person, which is recorded", by(now), approved, pausing.Clear),

		Entry("paused for a rollout that was aborted", pausedBy(former, former), byPolicy, pausing.Pause),
		Entry("paused for a rollout that was aborted, in mode auto", pausedBy(former, former), byNobody, pausing.Clear),
		Entry("resumed in a rollout that was aborted", by(former), byPolicy, pausing.Pause),

		Entry("paused by hand, without a value, in mode auto", paused(""), byNobody, pausing.Pause),
		Entry("paused by hand, by policy too", paused("lunch"), byPolicy, pausing.Pause),
		Entry("paused by hand, which was noted", pausedBy("lunch", now), byNobody, pausing.Leave),
		Entry("resumed by hand after it was noted", by(now), byNobody, pausing.Approve),
		Entry("paused by hand, which an aborted rollout noted", pausedBy("lunch", former), byNobody, pausing.Pause),
		Entry("paused by hand after it was approved", paused("dinner"), approved, pausing.Leave),
	)

	DescribeTable("takes for our own", func(annotations map[string]string, expected bool) {
		Expect(pausing.MarksOf(nodeWith(annotations)).Own()).To(Equal(expected))
	},
		Entry("what carries the rollout's name twice", pausedBy(now, now), true),
		Entry("not what a person wrote over it", pausedBy("lunch", now), false),
		Entry("not what nobody noted", paused(now), false),
		Entry("not an empty pause", pausedBy("", ""), false),
		Entry("not a pause that is gone", by(now), false),
	)
})

var _ = DescribeTable("Names", func(mode infrav1.NodeUpgradeMode, expected bool, nodes ...string) {
	Expect(pausing.Names(infrav1.NodeUpgradeStrategy{Mode: mode, PauseNodes: nodes}, "n")).To(Equal(expected))
},
	Entry("unset", infrav1.NodeUpgradeMode(""), false, "n"),
	Entry("auto", infrav1.NodeUpgradeModeAuto, false),
	Entry("auto, although it is named", infrav1.NodeUpgradeModeAuto, false, "n"),
	Entry("manual", infrav1.NodeUpgradeModeManual, true),
	Entry("manual, in the words of Harvester", infrav1.NodeUpgradeMode("manual"), true),
	Entry("manual, and it is named", infrav1.NodeUpgradeModeManual, true, "m", "n"),
	Entry("manual, and others are named", infrav1.NodeUpgradeModeManual, false, "m"),
)

var _ = DescribeTable("Unknown", func(mode infrav1.NodeUpgradeMode, names []string, expected ...string) {
	Expect(pausing.Unknown(infrav1.NodeUpgradeStrategy{Mode: mode, PauseNodes: names}, []string{"a", "b"})).To(ConsistOf(expected))
},
	Entry("all are there", infrav1.NodeUpgradeModeManual, []string{"b", "a"}),
	Entry("some are not, in order", infrav1.NodeUpgradeModeManual, []string{"z", "a", "c", "z"}, "c", "z"),
	Entry("auto", infrav1.NodeUpgradeModeAuto, []string{"z"}),
	Entry("every node", infrav1.NodeUpgradeModeManual, nil),
)

var _ = DescribeTable("RolloutOf", func(rollout, expected string) {
	upgrade := &infrav1.ElementalHostUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u"}}
	upgrade.Spec.TemplateName, upgrade.Spec.RolloutName = "t", rollout
	Expect(pausing.RolloutOf(upgrade)).To(Equal(expected))
},
	Entry("an attempt of a rollout", "r", "r"),
	Entry("an attempt of none", "", "u"),
)
