// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package attempts_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
)

var _ = DescribeTable("WaitsForApproval", func(status infrav1.ElementalHostUpgradeStatus, waits bool) {
	upgrade := &infrav1.ElementalHostUpgrade{Status: status}
	Expect(attempts.WaitsForApproval(upgrade)).To(Equal(waits))
},
	Entry("new", infrav1.ElementalHostUpgradeStatus{}, false),
	Entry("paused", infrav1.ElementalHostUpgradeStatus{
		Step: attempts.StepApprove, Steps: []infrav1.UpgradeStepStatus{{Name: attempts.StepApprove}}}, true),
	Entry("aborted while paused", infrav1.ElementalHostUpgradeStatus{
		Phase: infrav1.UpgradeAborted, Step: attempts.StepApprove, Steps: []infrav1.UpgradeStepStatus{{Name: attempts.StepApprove}}}, false),
	Entry("resumed", infrav1.ElementalHostUpgradeStatus{
		Step: "Admit", StepIndex: 4, StepCount: 14, Steps: []infrav1.UpgradeStepStatus{{Name: attempts.StepApprove, CompletionTime: &metav1.Time{}}}}, false),
)
