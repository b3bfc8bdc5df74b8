// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package direct_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// calm is how long something must not happen.
const calm = 6 * time.Second

// theLab is shared by all specs.
var theLab *lab.Lab

func TestDirect(t *testing.T) {
	specs.Run(t, "Direct")
}

var _ = BeforeSuite(func(ctx SpecContext) { theLab = suite.StartLab(ctx, lab.Options{}) })

var _ = AfterSuite(func() {
	if theLab == nil {
		return
	}
	events := suite.Audit(theLab.Management)
	Expect(audit.Deleted(events, "machines")).To(BeEmpty(), "no Machine was ever deleted")
	Expect(updates(events)).To(BeEmpty(), "Cluster API updated no Machine in place by itself")
})

// updates are the writes with one of the annotations by which Cluster API marks an update in place, but for those to Machines of the
// MachineDeployments.
func updates(events []auditv1.Event) []string {
	found := []string{}
	for _, event := range events {
		if event.RequestObject == nil || event.ObjectRef == nil || !slices.Contains([]string{"machines", "elementalmachines"}, event.ObjectRef.Resource) ||
			strings.HasPrefix(event.ObjectRef.Name, scenario.Deployment+"-") {
			continue
		}
		for _, mark := range []string{clusterv1.UpdateInProgressAnnotation, runtimev1.PendingHooksAnnotation, clusterv1.PendingAcknowledgeMoveAnnotation} {
			if strings.Contains(string(event.RequestObject.Raw), mark) {
				found = append(found, event.Verb+" "+event.ObjectRef.Resource+"/"+event.ObjectRef.Name+": "+mark)
			}
		}
	}
	return found
}

// said is a condition of a template.
type said struct{ Status, Reason string }

func says(ctx context.Context, cluster *scenario.Cluster, name, condition string) (said, error) {
	found, err := cluster.TemplateCondition(ctx, name, condition)
	return said{string(found.Status), found.Reason}, err
}
