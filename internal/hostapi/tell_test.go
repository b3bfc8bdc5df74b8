// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("An operator is told, with the address and the key of who asked,", func() {
	BeforeEach(func() { told() })

	from := func(who *machine, note string) OmegaMatcher {
		return And(HavePrefix(note+" (asked from 127.0.0.1:"), HaveSuffix(" with the key "+wire.KeyFingerprint(who.pubKey())+")"))
	}

	It("who was given bootstrap data", func(ctx SpecContext) {
		who := makeServed(ctx)
		Expect(who.host.get(ctx, "/bootstrap").status).To(Equal(http.StatusOK))
		Expect(told()).To(ConsistOf(from(who.host, "Normal BootstrapHandedOut The host was given the bootstrap data of Machine machine-1")))
	})

	It("who wanted the name of another host, and no one who registers again", func(ctx SpecContext) {
		endpoint := openRegistration(ctx, nil)
		host := registered(ctx, endpoint, "m-1")
		Expect(host.register(ctx, host.create()).status).To(Equal(http.StatusCreated))
		Expect(told()).To(BeEmpty())
		other := newMachine(endpoint, "m-1")
		Expect(other.register(ctx, other.create()).status).To(Equal(http.StatusConflict))
		Expect(told()).To(ConsistOf(from(other, "Warning HostNameTaken Somebody with another key tried to register under the name of this host")))
	})

	It("which host resets itself", func(ctx SpecContext) {
		host := registered(ctx, openRegistration(ctx, nil), "m-1")
		Expect(host.forget(ctx).status).To(Equal(http.StatusAccepted))
		Expect(told()).To(ConsistOf(from(host, "Normal HostLeaves The host has begun to reset itself and asked to be deleted")))
	})
})
