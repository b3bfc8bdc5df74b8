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

// madeLater is an attempt that was made some minutes after others, and has entered steps.
func madeLater(name string, minutes int, phase infrav1.UpgradePhase, steps ...string) infrav1.ElementalHostUpgrade {
	made := infrav1.ElementalHostUpgrade{}
	made.Name, made.CreationTimestamp = name, metav1.NewTime(time.Unix(0, 0).Add(time.Duration(minutes)*time.Minute))
	made.Status.Phase = phase
	for _, step := range steps {
		made.Status.Steps = append(made.Status.Steps, infrav1.UpgradeStepStatus{Name: step})
	}
	return made
}

var _ = DescribeTable("The last attempt that has changed what a host runs is", func(expected string, made ...infrav1.ElementalHostUpgrade) {
	last := attempts.LastAtWork(made)
	if expected == "" {
		Expect(last).To(BeNil())
		return
	}
	Expect(last).To(HaveField("Name", expected))
},
	Entry("none where there is none", ""),
	Entry("the newest of those that have ended", "b", madeLater("b", 2, infrav1.UpgradeRolledBack), madeLater("a", 1, infrav1.UpgradeSucceeded)),
	Entry("one that has succeeded after a roll-back", "b", madeLater("a", 1, infrav1.UpgradeRolledBack), madeLater("b", 2, infrav1.UpgradeSucceeded)),
	Entry("not one that failed before it was triggered", "a", madeLater("a", 1, infrav1.UpgradeRolledBack), madeLater("b", 2, infrav1.UpgradeFailed, "Preflight")),
	Entry("one that failed after it was", "b", madeLater("a", 1, infrav1.UpgradeSucceeded), madeLater("b", 2, infrav1.UpgradeFailed, attempts.StepReboot)),
	Entry("not one that was aborted before", "a", madeLater("a", 1, infrav1.UpgradeRolledBack), madeLater("b", 2, infrav1.UpgradeAborted)),
	Entry("one whose host was lost", "b", madeLater("a", 1, infrav1.UpgradeRolledBack), madeLater("b", 2, infrav1.UpgradeHostLost, attempts.StepReboot)),
)
