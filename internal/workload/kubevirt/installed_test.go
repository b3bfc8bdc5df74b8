// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubevirtv1 "kubevirt.io/api/core/v1"
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

// outdated is a mapper that has read the kinds of KubeVirt, which the API server has no more.
type outdated struct{ meta.RESTMapper }

func (o outdated) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := o.RESTMapper.RESTMapping(kind, versions...)
	if err == nil && kind.Group == kubevirtv1.GroupVersion.Group {
		mapping = &meta.RESTMapping{Resource: mapping.Resource, GroupVersionKind: mapping.GroupVersionKind, Scope: mapping.Scope}
		mapping.Resource.Resource += "-removed"
	}
	return mapping, err
}

var _ = DescribeTable("A Pod of a virtual machine", func(role string, owned bool) {
	Expect(kubevirt.OwnsPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{kubevirtv1.AppLabel: role}}})).To(Equal(owned))
},
	Entry("runs it", "virt-launcher", true),
	Entry("holds a disk for it", "hotplug-disk", true),
	Entry("is not one of KubeVirt itself", "virt-handler", false),
	Entry("is not one without a label", "", false),
)

var _ = Describe("KubeVirt", func() {
	It("is installed where its kinds are known", func(ctx SpecContext) {
		Expect(kubevirt.Installed(ctx, live)).To(BeTrue())
	})
	It("is not installed where they are not", func(ctx SpecContext) {
		Expect(kubevirt.Installed(ctx, mapped{live, meta.NewDefaultRESTMapper(nil)})).To(BeFalse())
	})
	It("has no virtual machines once it is removed, although its kinds were known before", func(ctx SpecContext) {
		kube, err := client.New(server.Config, client.Options{Scheme: server.Scheme, Mapper: outdated{live.RESTMapper()}})
		Expect(err).NotTo(HaveOccurred())
		Expect(kube.List(ctx, &kubevirtv1.VirtualMachineList{})).To(Satisfy(apierrors.IsNotFound))
		Expect(kubevirt.Read(ctx, kube)).To(HaveField("Machines", BeEmpty()))
	})
	It("is neither where nobody says", func(ctx SpecContext) {
		_, err := kubevirt.Installed(ctx, mapped{live, unreachable{}})
		Expect(err).To(MatchError("looking for KubeVirt: " + errReset.Error()))
	})
})
