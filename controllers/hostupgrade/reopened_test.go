// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

var _ = DescribeTable("isReopened", func(expected bool, changes ...func(*observation)) {
	Expect(typical(changes...).isReopened()).To(Equal(expected))
},
	Entry("triggered, and the node accepts Pods", true, labelled),
	Entry("triggered, fetched, and the node accepts Pods", true, labelled, reported(infrav1.HostUpgradeFetched)),
	Entry("not triggered", false),
	Entry("started", false, labelled, reported(infrav1.HostUpgradeApplying)),
	Entry("through", false, labelled, reported(infrav1.HostUpgradeFailed)),
	Entry("cordoned, by whomever", false, labelled, func(o *observation) { o.node.Spec.Unschedulable = true }),
	Entry("the only node, which is marked", false, labelled, func(o *observation) {
		o.node.Annotations = map[string]string{infrav1.MarkedByAnnotation: o.attempt}
	}),
	Entry("marked by another attempt", true, labelled, func(o *observation) {
		o.node.Annotations = map[string]string{infrav1.MarkedByAnnotation: "other"}
	}),
	Entry("a node that cannot be seen", false, labelled, func(o *observation) { o.node = nil }),
	Entry("lost", false, labelled, func(o *observation) {
		o.upgrade.Status.Steps = []infrav1.UpgradeStepStatus{{Name: stepReboot, StartTime: metav1.NewTime(noon.Add(-time.Hour))}}
	}),
)
