// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package osversion_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func asked(osVersion string) infrav1.OSVersionManagement {
	management := specs.OS(osVersion)
	management.Plugins = map[string]runtime.RawExtension{"other": {Raw: []byte(`1`)}}
	return management
}

var _ = Describe("An OS version that a ManagedOSVersion stands for", func() {
	DescribeTable("is looked up",
		func(osVersion, unresolved, image string) {
			Expect(osversion.Unresolved(asked(osVersion))).To(Equal(unresolved))
			version, err := osversion.Decode(asked(osVersion))
			Expect(err).NotTo(HaveOccurred())
			Expect(version.ImageURI).To(Equal(image))
		},
		Entry("when it is named", `{"managedOSVersionName":"v2"}`, "v2", ""),
		Entry("whatever image is there besides", `{"managedOSVersionName":"v2","imageUri":"os:1"}`, "v2", ""),
		Entry("again when another is named", `{"managedOSVersionName":"v2","imageUri":"os:1","resolvedFrom":"v1"}`, "v2", ""),
		Entry("once", `{"managedOSVersionName":"v2","imageUri":"os:2","resolvedFrom":"v2"}`, "", "os:2"),
		Entry("not when none is named any more", `{"imageUri":"os:3","resolvedFrom":"v2"}`, "", "os:3"),
		Entry("not where none is", `{"imageUri":"os:3"}`, "", "os:3"),
	)

	It("keeps everything else when it is resolved, and is the same OS as its image", func() {
		given := asked(`{"managedOSVersionName":"v2","imageUri":"os:1","upgradeRecovery":true}`)
		resolved := osversion.Resolve(given, "os:2")
		Expect(resolved.OSVersion).To(Equal(
			&infrav1.OSVersion{ManagedOSVersionName: "v2", ResolvedFrom: "v2", ImageURIOfOperator: "os:2", UpgradeRecovery: ptr.To(true)}))
		Expect(resolved.Plugins["other"].Raw).To(MatchJSON(`1`))
		Expect(osversion.Unresolved(given)).To(Equal("v2"), "what was given is not changed")
		Expect(osversion.Same(resolved, asked(`{"imageUri":"os:2","upgradeRecovery":true}`))).To(BeTrue())
		Expect(osversion.Same(resolved, given)).To(BeFalse())
		Expect(osversion.Same(given, asked(`{"managedOSVersionName":"v2","imageUri":"os:7","resolvedFrom":"v1","upgradeRecovery":true}`))).
			To(BeTrue(), "an image that does not count makes no difference")
		Expect(osversion.Same(given, asked(`{"managedOSVersionName":"v3","upgradeRecovery":true}`))).To(BeFalse())
	})

	DescribeTable("is, in a template, what the template was pinned to",
		func(osVersion, pin, expected string) {
			template := &infrav1.ElementalMachineTemplate{}
			template.Spec.Template.Spec.OSVersionManagement = asked(osVersion)
			template.Annotations = map[string]string{infrav1.ResolvedOSVersionAnnotation: pin}
			version, err := osversion.Decode(osversion.OfTemplate(template))
			Expect(err).NotTo(HaveOccurred())
			Expect(version.ImageURI).To(Equal(expected))
		},
		Entry(nil, `{"managedOSVersionName":"v2"}`, `{"managedOSVersionName":"v2","imageUri":"os:2"}`, "os:2"),
		Entry("not for another name", `{"managedOSVersionName":"v3"}`, `{"managedOSVersionName":"v2","imageUri":"os:2"}`, ""),
		Entry("not where it cannot be read", `{"managedOSVersionName":"v2"}`, `os:2`, ""),
		Entry("not for an image", `{"imageUri":"os:1"}`, `{"managedOSVersionName":"","imageUri":"os:2"}`, "os:1"),
	)
})
