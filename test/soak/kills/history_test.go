// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kills_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// history is the number of ended attempts that the manager keeps for a host.
const history = 10

// leaveHistory gives the worker the history of many upgrades. The manager must not see the attempts before they have
// ended.
func leaveHistory(ctx context.Context) {
	GinkgoHelper()
	attempts, err := cluster.Attempts(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(attempts).To(HaveLen(1))
	theLab.Provider.Process.Kill()
	for n := range history {
		former := attempts[0].DeepCopy()
		former.ObjectMeta = metav1.ObjectMeta{
			Namespace: former.Namespace, Name: fmt.Sprintf("%s-%d", former.Name, n), Labels: former.Labels,
			OwnerReferences: former.OwnerReferences, Finalizers: former.Finalizers,
		}
		Expect(theLab.Kube.Create(ctx, former)).To(Succeed())
		ended := client.MergeFrom(former.DeepCopy())
		former.Status = infrav1.ElementalHostUpgradeStatus{Phase: attempts[0].Status.Phase, Attempt: former.Name}
		Expect(theLab.Kube.Status().Patch(ctx, former, ended)).To(Succeed())
	}
	Expect(theLab.Provider.Process.Restart()).To(Succeed())
	Expect(theLab.Provider.AwaitReady(ctx)).To(Succeed())
}
