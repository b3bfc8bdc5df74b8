// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// identified asks for the signature of an identity.
func identified() *infrav1.ImageVerification {
	return &infrav1.ImageVerification{
		TrustedRootRef: &infrav1.TrustedRootReference{Name: "sigstore"},
		Rules: []infrav1.ImageVerificationRule{{
			Prefix: "r", Identities: []infrav1.ImageIdentity{{Issuer: "https://issuer.test", Subject: "a"}, {Issuer: "https://issuer.test", SubjectRegExp: "b.*"}},
		}},
	}
}

// putRoot makes the ConfigMap that identified refers to.
func putRoot(ctx context.Context, endpoint *apitest.RegistrationEndpoint, data map[string]string) {
	GinkgoHelper()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: endpoint.Namespace, Name: "sigstore"}, Data: data}
	if err := plane.Client.Create(ctx, config); err != nil {
		Expect(plane.Client.Update(ctx, config)).To(Succeed())
	}
}

var _ = Describe("The trusted root of identities", func() {
	const missing = "which trustedRootRef names: create it with sigstore's trusted root under the key trusted_root.json"
	root := map[string]string{infrav1.TrustedRootKey: `{"mediaType": "root"}`}
	var endpoint *apitest.RegistrationEndpoint
	BeforeEach(func(ctx SpecContext) {
		endpoint = openRegistration(ctx, func(spec *infrav1.ElementalRegistrationSpec) {
			approveAll(spec)
			spec.ImageVerification = identified()
		})
	})
	told := func(told *wire.ImageVerification) {
		GinkgoHelper()
		Expect(told.Rules).To(Equal([]wire.ImageVerificationRule{{
			Prefix: "r", Identities: []wire.ImageIdentity{{Issuer: "https://issuer.test", Subject: "a"}, {Issuer: "https://issuer.test", SubjectRegExp: "b.*"}},
		}}))
		Expect(told.TrustedRootRef).To(Equal("sigstore"))
		Expect(told.TrustedRoot).To(MatchJSON(root[infrav1.TrustedRootKey]))
		Expect(told.TrustedRootError).To(BeEmpty())
	}

	It("is told with the registration and with the options of a reset, and what is wrong with it in its place", func(ctx SpecContext) {
		host := registered(ctx, endpoint, "m-1")
		for _, got := range []*wire.ImageVerification{
			into[wire.Registration](get(ctx, endpoint, "", asRegistration(endpoint))).ImageVerification,
			into[wire.Reset](host.get(ctx, "/reset")).ImageVerification,
		} {
			Expect(got.TrustedRoot).To(BeEmpty())
			Expect(got.TrustedRootError).To(Equal("there is no ConfigMap " + endpoint.Namespace + "/sigstore, " + missing))
		}
		putRoot(ctx, endpoint, root)
		Eventually(func() json.RawMessage {
			return into[wire.Registration](get(ctx, endpoint, "", asRegistration(endpoint))).ImageVerification.TrustedRoot
		}).ShouldNot(BeEmpty(), "what was not there is looked for again")
		told(into[wire.Registration](get(ctx, endpoint, "", asRegistration(endpoint))).ImageVerification)
		told(into[wire.Reset](host.get(ctx, "/reset")).ImageVerification)
	})

	It("is told with an attempt, to a host that asks and to one that waits, and is no part of the revision", func(ctx SpecContext) {
		putRoot(ctx, endpoint, root)
		Eventually(func() json.RawMessage {
			return into[wire.Registration](get(ctx, endpoint, "", asRegistration(endpoint))).ImageVerification.TrustedRoot
		}).ShouldNot(BeEmpty())
		host := registered(ctx, endpoint, "m-1")
		unasked := into[wire.Desired](host.get(ctx, "/desired"))
		waiting := make(chan answer, 1)
		go func() { waiting <- host.get(ctx, "/desired?wait=60s&revision="+unasked.Revision) }()
		host.change(ctx, func(h *infrav1.ElementalHost) {
			h.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "a-1", ImageVerification: identified()}
		})
		woken := answer{}
		Eventually(waiting).WithContext(ctx).Should(Receive(&woken))
		told(into[wire.Desired](woken).Upgrade.ImageVerification)

		putRoot(ctx, endpoint, nil)
		now := wire.Desired{}
		Eventually(func() string {
			now = into[wire.Desired](host.get(ctx, "/desired"))
			return now.Upgrade.ImageVerification.TrustedRootError
		}).Should(HavePrefix("ConfigMap " + endpoint.Namespace + "/sigstore has no key trusted_root.json: "))
		Expect(now.Revision).To(Equal(into[wire.Desired](woken).Revision))
		Expect(host.get(ctx, "/desired?wait=1ms&revision="+now.Revision).status).To(Equal(http.StatusOK))
	})

	DescribeTable("is not told when it is", func(ctx SpecContext, content, why string) {
		putRoot(ctx, endpoint, map[string]string{infrav1.TrustedRootKey: content})
		Eventually(func() *wire.ImageVerification {
			return into[wire.Registration](get(ctx, endpoint, "", asRegistration(endpoint))).ImageVerification
		}).Should(And(HaveField("TrustedRoot", BeEmpty()), HaveField("TrustedRootError", And(HavePrefix("key trusted_root.json of ConfigMap "+endpoint.Namespace+"/sigstore "), ContainSubstring(why)))))
	},
		Entry("no JSON", "-----BEGIN CERTIFICATE-----", "is not JSON: put sigstore's trusted root there"),
		Entry("too large", `"`+strings.Repeat("x", 256<<10)+`"`, "has 262146 bytes, at most 262144 are read"),
	)
})
