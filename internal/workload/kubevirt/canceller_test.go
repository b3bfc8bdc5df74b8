// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	"io"
	"net/http"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

var _ = Describe("A Canceller", func() {
	key := client.ObjectKey{Namespace: "default", Name: "vm"}

	It("calls the subresource as KubeVirt serves it, and says what it answers", func(ctx SpecContext) {
		status := http.StatusAccepted
		var asked, said string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked, said = r.Method+" "+r.URL.Path, string(body)
			w.WriteHeader(status)
		}))
		DeferCleanup(server.Close)
		cancel := kubevirt.NewCanceller(&rest.Config{Host: server.URL})
		Expect(cancel(ctx, key, "node-1")).To(Succeed())
		Expect(asked).To(Equal("PUT /apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/vm/evacuate/cancel"))
		Expect(said).To(MatchJSON(`{"evacuationNodeName":"node-1"}`))
		status = http.StatusForbidden
		Expect(cancel(ctx, key, "node-1")).To(Satisfy(apierrors.IsForbidden))
	})

	It("says why it cannot call", func(ctx SpecContext) {
		cancel := kubevirt.NewCanceller(&rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{Insecure: true, CAData: []byte("x")}})
		Expect(cancel(ctx, key, "node-1")).To(MatchError(HavePrefix("preparing to call KubeVirt's API: ")))
	})
})
