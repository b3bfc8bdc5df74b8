// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kubevirt/vm"
)

var _ = Describe("A Spec", func() {
	It("leaves to KubeVirt's defaults what it does not set", func() {
		machine := vm.New(vm.Spec{Name: "plain"})
		Expect(machine.Namespace).To(Equal(vm.Namespace))
		Expect(machine.Spec.RunStrategy).To(HaveValue(Equal(kubevirtv1.RunStrategyAlways)))
		instance := machine.Spec.Template.Spec
		Expect(instance.EvictionStrategy).To(BeNil())
		Expect(instance.Affinity).To(BeNil())
		Expect(instance.NodeSelector).To(BeEmpty())
	})

	It("prefers a node that can be left, and requires one that cannot", func() {
		Expect(vm.New(vm.Spec{Prefer: "n"}).Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution).To(BeNil())
		Expect(vm.New(vm.Spec{Require: "n"}).Spec.Template.Spec.NodeSelector).To(HaveKeyWithValue("kubernetes.io/hostname", "n"))
	})

	It("sets the requested annotations on the instance, and applies Change last", func() {
		machine := vm.New(vm.Spec{Asks: map[string]string{"a": "b"}, Change: func(m *kubevirtv1.VirtualMachine) { m.Spec.RunStrategy = nil }})
		Expect(machine.Spec.Template.ObjectMeta.Annotations).To(HaveKeyWithValue("a", "b"))
		Expect(machine.Spec.RunStrategy).To(BeNil())
	})
})
