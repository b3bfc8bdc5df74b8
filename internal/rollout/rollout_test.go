// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
)

func template(osVersion string) *infrav1.ElementalMachineTemplate {
	t := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	t.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{
		infrav1.OSVersionKey: runtime.RawExtension{Raw: []byte(osVersion)},
	}
	return t
}

func hash(t *infrav1.ElementalMachineTemplate) string {
	GinkgoHelper()
	value, err := rollout.ContentHash(t)
	Expect(err).NotTo(HaveOccurred())
	return value
}

var _ = Describe("ContentHash", func() {
	base := template(`{"imageUri":"oci:x","upgradeRecovery":true}`)

	It("does not depend on the order of keys", func() {
		Expect(hash(template(`{"upgradeRecovery":true, "imageUri":"oci:x"}`))).To(Equal(hash(base)))
	})
	It("tells any other content apart, even what identifies no OS", func() {
		Expect(hash(template(`{"imageUri":"oci:x","upgradeRecovery":true,"debug":true}`))).NotTo(Equal(hash(base)))
		other := base.DeepCopy()
		other.Spec.Template.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		Expect(hash(other)).NotTo(Equal(hash(base)))
	})
	It("is a whole SHA-256", func() {
		Expect(hash(base)).To(MatchRegexp("^[0-9a-f]{64}$"))
	})
	It("ignores metadata", func() {
		other := base.DeepCopy()
		other.Spec.Template.ObjectMeta.Labels = map[string]string{"a": "b"}
		other.Generation = 7
		Expect(hash(other)).To(Equal(hash(base)))
	})
	It("says which template cannot be encoded", func() {
		_, err := rollout.ContentHash(template(`{"imageUri"`))
		Expect(err).To(MatchError(ContainSubstring("ElementalMachineTemplate t")))
	})
})

var _ = Describe("CloneName", func() {
	name := rollout.CloneName(rollout.Content{Template: "pool", UID: "uid", Generation: 2}, "c")

	DescribeTable("is another one for anything that may be another content",
		func(other string) { Expect(other).NotTo(Equal(name)) },
		Entry("the next generation", rollout.CloneName(rollout.Content{Template: "pool", UID: "uid", Generation: 3}, "c")),
		Entry("a template of the same name recreated", rollout.CloneName(rollout.Content{Template: "pool", UID: "uid2", Generation: 2}, "c")),
		Entry("another look at its ManagedOSVersion", rollout.CloneName(rollout.Content{Template: "pool", UID: "uid", Generation: 2, LookedUp: "7"}, "c")),
		Entry("another cluster", rollout.CloneName(rollout.Content{Template: "pool", UID: "uid", Generation: 2}, "c2")),
		Entry("parts that read the same when joined", rollout.CloneName(rollout.Content{Template: "pool", UID: "uid2", Generation: 2}, "")),
	)
	It("is the same for the same", func() {
		Expect(rollout.CloneName(rollout.Content{Template: "pool", UID: "uid", Generation: 2}, "c")).To(Equal(name))
		Expect(name).To(MatchRegexp("^pool-[0-9a-f]{8}$"))
	})
})

var _ = DescribeTable("names are DNS labels, however long their parts",
	func(name string) {
		Expect(len(name)).To(BeNumerically("<=", 63))
		Expect(validation.IsDNS1123Subdomain(name)).To(BeEmpty())
		Expect(validation.IsValidLabelValue(rollout.LabelValue(name))).To(BeEmpty())
	},
	Entry("long template", rollout.CloneName(rollout.Content{Template: strings.Repeat("a", 253), UID: "u", Generation: 1}, "c")),
	Entry("cut at a separator", rollout.CloneName(rollout.Content{Template: strings.Repeat("a", 53) + "." + strings.Repeat("b", 20), UID: "u", Generation: 1}, "c")),
	Entry("long machine", rollout.UpgradeName(strings.Repeat("m", 253), "t", "h")),
	Entry("short machine", rollout.UpgradeName("m", "", "")),
)

var _ = Describe("UpgradeName", func() {
	It("is one attempt per machine, template and OS", func() {
		names := []string{
			rollout.UpgradeName("m", "t", "h"), rollout.UpgradeName("m2", "t", "h"),
			rollout.UpgradeName("m", "t2", "h"), rollout.UpgradeName("m", "t", "h2"), rollout.UpgradeName("m", "th", ""),
		}
		seen := map[string]bool{}
		for _, name := range names {
			Expect(seen).NotTo(HaveKey(name))
			seen[name] = true
		}
	})
})

var _ = Describe("Options", func() {
	It("come back as they were, with unset fields unset", func() {
		options := infrav1.NodeUpgradeOption{MaxConcurrent: 3, Replacement: infrav1.ReplacementAllow}
		value, err := rollout.Snapshot(options)
		Expect(err).NotTo(HaveOccurred())
		t := template("{}")
		t.Annotations = map[string]string{infrav1.RolloutOptionsAnnotation: value}
		read, found, err := rollout.FromAnnotation(t)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeTrue())
		Expect(read).To(Equal(options))
	})
	It("are not found where there are none", func() {
		_, found, err := rollout.FromAnnotation(template("{}"))
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeFalse())
	})
	It("are never guessed", func() {
		t := template("{}")
		t.Annotations = map[string]string{infrav1.RolloutOptionsAnnotation: "Allow"}
		_, _, err := rollout.FromAnnotation(t)
		Expect(err).To(MatchError(ContainSubstring(infrav1.RolloutOptionsAnnotation)))
	})
})
