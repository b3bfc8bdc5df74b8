// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// calm is how long something must not happen.
const calm = 8 * time.Second

func TestRollout(t *testing.T) {
	specs.Run(t, "Rollout")
}

// expectKept asserts what must hold after any change that is not a replacement.
func expectKept(ctx context.Context, cluster *scenario.Cluster, before []scenario.Identity) {
	GinkgoHelper()
	Expect(cluster.Identities(ctx)).To(Equal(before), "every Machine, Node name and provider ID is the same")
	Expect(audit.Deleted(suite.Audit(cluster.Lab.Management), "machines")).To(BeEmpty(), "no Machine was deleted")
}

// expectUndisturbed asserts what the workload cluster's audit log must show since a time.
func expectUndisturbed(cluster *scenario.Cluster, since time.Time) {
	GinkgoHelper()
	events := slices.DeleteFunc(suite.Audit(cluster.Lab.Workload), func(event auditv1.Event) bool {
		return event.StageTimestamp.Time.Before(since)
	})
	Expect(audit.MaxOverlap(audit.Cordons(events))).To(BeNumerically("<=", 1), "at most one node is unschedulable at a time")
	budgets := audit.Budgets(events)
	Expect(budgets).To(HaveKey("default/web"))
	Expect(budgets["default/web"].Minimum).To(BeNumerically(">=", budgets["default/web"].Desired), "the budget is never violated")
}
