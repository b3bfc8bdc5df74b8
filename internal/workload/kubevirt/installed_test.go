// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload/kubevirt"
)

// mapped is a client of an API server whose kinds are told by another mapper.
type mapped struct {
	client.Client
	mapper meta.RESTMapper
}

func (m mapped) RESTMapper() meta.RESTMapper { return m.mapper }

// unreachable is the mapper of an API server that does not answer.
type unreachable struct{ meta.RESTMapper }

func (unreachable) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errReset
}

var _ = Describe("KubeVirt", func() {
	It("is installed where its kinds are known", func(ctx SpecContext) {
		Expect(kubevirt.Installed(ctx, live)).To(BeTrue())
	})
	It("is not installed where they are not", func(ctx SpecContext) {
		Expect(kubevirt.Installed(ctx, mapped{live, meta.NewDefaultRESTMapper(nil)})).To(BeFalse())
	})
	It("is neither where nobody says", func(ctx SpecContext) {
		_, err := kubevirt.Installed(ctx, mapped{live, unreachable{}})
		Expect(err).To(MatchError("looking for KubeVirt: " + errReset.Error()))
	})
})
