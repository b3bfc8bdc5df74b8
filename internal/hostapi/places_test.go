// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
)

// lateCache shows no host yet.
type lateCache struct{ client.Reader }

func (lateCache) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

var _ = Describe("The places of a registration", func() {
	It("are not given back by who asks for a name that is taken", func(ctx SpecContext) {
		enter, leave := hostapi.Places(lateCache{}, clocktesting.NewFakePassiveClock(time.Now()))
		registration := &infrav1.ElementalRegistration{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n1", Name: "edge"},
			Spec:       infrav1.ElementalRegistrationSpec{MaxHosts: ptr.To[int32](2)},
		}
		host := func(name, key string) *infrav1.ElementalHost {
			return &infrav1.ElementalHost{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "n1", Name: name, Annotations: map[string]string{infrav1.RegistrationNameAnnotation: "edge"},
				},
				Spec: infrav1.ElementalHostSpec{PubKey: key},
			}
		}
		Expect(enter(ctx, registration, host("m-1", "key 1"))).To(Succeed())
		Expect(enter(ctx, registration, host("m-1", "key 2"))).To(Succeed())
		leave(host("m-1", "key 2"))
		Expect(enter(ctx, registration, host("m-2", "key 3"))).To(Succeed())
		Expect(enter(ctx, registration, host("m-3", "key 4"))).To(MatchError(ContainSubstring("has 2 hosts")))

		By("giving back a place of its own")
		leave(host("m-2", "key 3"))
		Expect(enter(ctx, registration, host("m-3", "key 4"))).To(Succeed())
	})
})
