// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/webhooks"
)

var _ = Describe("A change of an OS version", func() {
	const (
		known = "it knows imageUri, managedOSVersionName, resolvedFrom, upgradeRecovery, debug"
		typo  = `{"imageUri":"oci://os:v1","imageUrl":"oci://os:v2"}`
	)
	DescribeTable("warns of what of it will do nothing",
		func(before, after string, warnings ...string) {
			was, is := &infrav1.ElementalMachine{}, &infrav1.ElementalMachine{}
			was.Spec.OSVersionManagement, is.Spec.OSVersionManagement = raw(before), raw(after)
			Expect((&webhooks.Machine{}).ValidateUpdate(context.Background(), was, is)).To(ConsistOf(warnings))

			from, to := &infrav1.ElementalMachineTemplate{}, &infrav1.ElementalMachineTemplate{}
			from.Spec.Template.Spec, to.Spec.Template.Spec = was.Spec, is.Spec
			asked := admission.NewContextWithRequest(context.Background(), admission.Request{})
			Expect((&webhooks.MachineTemplate{}).ValidateUpdate(asked, from, to)).To(ConsistOf(warnings))
		},
		Entry("a key that is misspelt", `{"imageUri":"oci://os:v1"}`, typo,
			"osVersion.imageUrl is passed on to the hosts, whose elemental OS plugin ignores it: "+known),
		Entry("an image beside a ManagedOSVersion", `{"imageUri":"oci://os:v1","managedOSVersionName":"v3"}`,
			`{"imageUri":"oci://os:v2","managedOSVersionName":"v3"}`,
			`osVersion.imageUri is ignored because managedOSVersionName "v3" is set: remove that to use this image`),
		Entry("not what was there before", typo, typo),
		Entry("not an image that a ManagedOSVersion was looked up to", `{"managedOSVersionName":"v3"}`,
			`{"imageUri":"oci://os:v3","managedOSVersionName":"v3","resolvedFrom":"v3"}`),
		Entry("not an image that a ManagedOSVersion takes the place of", `{"imageUri":"oci://os:v1"}`,
			`{"imageUri":"oci://os:v1","managedOSVersionName":"v3"}`),
		Entry("nothing that counts", `{"imageUri":"oci://os:v1"}`, `{"imageUri":"oci://os:v2","debug":true,"upgradeRecovery":true}`),
	)

	It("warns of what is made, too", func() {
		machine := &infrav1.ElementalMachine{}
		machine.Spec.OSVersionManagement = raw(typo)
		Expect((&webhooks.Machine{}).ValidateCreate(context.Background(), machine)).To(ConsistOf(HavePrefix("osVersion.imageUrl ")))
		template := &infrav1.ElementalMachineTemplate{}
		template.Spec.Template.Spec = machine.Spec
		Expect((&webhooks.MachineTemplate{}).ValidateCreate(context.Background(), template)).To(ConsistOf(HavePrefix("osVersion.imageUrl ")))
	})

	It("lets what has an impossible image already be changed otherwise", func() {
		was := &infrav1.ElementalMachine{}
		was.Spec.OSVersionManagement = image("http://os:v1")
		is := was.DeepCopy()
		is.Finalizers = []string{"a/b"}
		_, err := (&webhooks.Machine{}).ValidateUpdate(context.Background(), was, is)
		Expect(err).NotTo(HaveOccurred())
	})
})
