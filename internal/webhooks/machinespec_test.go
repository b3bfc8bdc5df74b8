// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/webhooks"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var _ = Describe("A change of an OS version", func() {
	const ignored = `{"imageURI":"oci://os:v2","managedOSVersionName":"v3"}`

	DescribeTable("warns of what of it will do nothing",
		func(before, after string, warnings ...string) {
			was, is := &infrav1.ElementalMachine{}, &infrav1.ElementalMachine{}
			was.Spec.OSVersionManagement, is.Spec.OSVersionManagement = specs.OS(before), specs.OS(after)
			Expect((&webhooks.Machine{}).ValidateUpdate(context.Background(), was, is)).To(ConsistOf(warnings))

			from, to := &infrav1.ElementalMachineTemplate{}, &infrav1.ElementalMachineTemplate{}
			from.Spec.Template.Spec, to.Spec.Template.Spec = was.Spec, is.Spec
			asked := admission.NewContextWithRequest(context.Background(), admission.Request{})
			Expect((&webhooks.MachineTemplate{}).ValidateUpdate(asked, from, to)).To(ConsistOf(warnings))
		},
		Entry("an image beside a ManagedOSVersion", `{"imageUri":"oci://os:v1","managedOSVersionName":"v3"}`, ignored,
			`osVersion.imageURI is ignored because managedOSVersionName "v3" is set: remove that to use this image`),
		Entry("not what was there before", ignored, ignored),
		Entry("not the other name of an image", ignored, `{"imageUri":"oci://os:v2","managedOSVersionName":"v3"}`),
		Entry("not an image that a ManagedOSVersion was looked up to", `{"managedOSVersionName":"v3"}`,
			`{"imageURI":"oci://os:v3","managedOSVersionName":"v3","resolvedFrom":"v3"}`),
		Entry("not an image that a ManagedOSVersion takes the place of", `{"imageUri":"oci://os:v1"}`,
			`{"imageUri":"oci://os:v1","managedOSVersionName":"v3"}`),
		Entry("nothing that counts", `{"imageUri":"oci://os:v1"}`, `{"imageUri":"oci://os:v2","debug":true,"upgradeRecovery":true}`),
	)

	It("warns of what is made, too", func() {
		machine := &infrav1.ElementalMachine{}
		machine.Spec.OSVersionManagement = specs.OS(ignored)
		Expect((&webhooks.Machine{}).ValidateCreate(context.Background(), machine)).To(ConsistOf(HavePrefix("osVersion.imageURI is ignored ")))
		template := &infrav1.ElementalMachineTemplate{}
		template.Spec.Template.Spec = machine.Spec
		Expect((&webhooks.MachineTemplate{}).ValidateCreate(context.Background(), template)).To(ConsistOf(HavePrefix("osVersion.imageURI is ignored ")))
	})

	It("lets what has an impossible image already be changed otherwise", func() {
		was := &infrav1.ElementalMachine{}
		was.Spec.OSVersionManagement = osversion.OfImage("http://os:v1")
		is := was.DeepCopy()
		is.Finalizers = []string{"a/b"}
		_, err := (&webhooks.Machine{}).ValidateUpdate(context.Background(), was, is)
		Expect(err).NotTo(HaveOccurred())
	})
})
