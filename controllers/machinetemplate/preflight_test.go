// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package machinetemplate_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner/ownertest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

// connector fails for one cluster, and knows of no connection to any other.
type connector struct{ fails string }

func (f *connector) Connect(_ context.Context, cluster client.ObjectKey) (*workload.Cluster, error) {
	if cluster.Name == f.fails {
		return nil, errors.New("its kubeconfig cannot be read")
	}
	return nil, workload.ErrUnreachable
}

var _ = Describe("An owner whose Cluster cannot be looked at", func() {
	It("waits by itself, and keeps no other owner of its template waiting", func() {
		allowInPlaceUpdates()
		w := newWorld()
		cluster, elemental := ownertest.Cluster(w.namespace, "other", infrav1.NodeUpgradeOption{})
		other := ownertest.MachineDeployment(w.namespace, "zz", "other", "t", 1)
		plane.Create(ctx, cluster, elemental, other)
		ownertest.Observe(ctx, c, other, 1)
		broken := &connector{fails: "c"}
		w.reconciler.Outlook = &outlook.Viewer{Client: c, Workload: broken, Now: time.Now}

		w.patch(imageB)
		Expect(w.reconcile().RequeueAfter).NotTo(BeZero())
		Expect(w.refersTo()).To(Equal("t"))
		Expect(apiserver.Get(ctx, c, other).Spec.Template.Spec.InfrastructureRef.Name).NotTo(Equal("t"))
		w.haveCondition(infrav1.ReferencesUpdatedCondition, metav1.ConditionFalse, infrav1.WaitingForClusterReason)
		Expect(w.message(infrav1.ReferencesUpdatedCondition)).To(Equal("MachineDeployment md waits until Cluster c can be looked at, see the log of the manager"))

		broken.fails = ""
		w.reconcile()
		Expect(w.refersTo()).NotTo(Equal("t"))
	})
})
