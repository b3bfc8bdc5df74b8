// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
)

var _ = Describe("A changed report", func() {
	It("is refused, not kept waiting, while as many are being written as may be", func(ctx SpecContext) {
		writes, answer := make(chan string, hostapi.MaxReportWrites), make(chan struct{})
		submit := hostapi.Reports(interceptor.NewClient(plane.Client, interceptor.Funcs{
			SubResourcePatch: func(_ context.Context, _ client.Client, _ string, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
				writes <- object.GetName()
				<-answer
				return nil
			},
		}))
		report := func(name string) error {
			return submit(ctx, &infrav1.ElementalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}},
				infrav1.ElementalHostStatus{Phase: infrav1.HostPhaseRunning})
		}
		results := make(chan error, hostapi.MaxReportWrites)
		for i := range hostapi.MaxReportWrites {
			go func() { results <- report(fmt.Sprintf("busy-%d", i)) }()
		}
		for range hostapi.MaxReportWrites {
			Eventually(writes).Should(Receive())
		}
		refusal := report("late")
		Expect(hostapi.StatusOf(refusal)).To(Equal(http.StatusServiceUnavailable), "%v", refusal)
		Expect(writes).NotTo(Receive())

		By("and stored once others have been")
		close(answer)
		for range hostapi.MaxReportWrites {
			Eventually(results).Should(Receive(Succeed()))
		}
		Expect(report("late")).To(Succeed())
		Expect(writes).To(Receive(Equal("late")))
	})
})
