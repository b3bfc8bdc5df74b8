// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rollout"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func template(osVersion string) *infrav1.ElementalMachineTemplate {
	t := &infrav1.ElementalMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	t.Spec.Template.Spec.OSVersionManagement = specs.OS(osVersion)
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
		broken := template(`{}`)
		broken.Spec.Template.Spec.OSVersionManagement.Plugins = map[string]runtime.RawExtension{"firmware": {Raw: []byte(`{`)}}
		_, err := rollout.ContentHash(broken)
		Expect(err).To(MatchError(ContainSubstring("ElementalMachineTemplate t")))
	})
})

var _ = DescribeTable("names are DNS labels, however long their parts",
	func(name string) {
		Expect(len(name)).To(BeNumerically("<=", 63))
		Expect(validation.IsDNS1123Subdomain(name)).To(BeEmpty())
		Expect(validation.IsValidLabelValue(rollout.LabelValue(name))).To(BeEmpty())
	},
	Entry("long template", made(strings.Repeat("a", 253)).Name),
	Entry("cut at a separator", made(strings.Repeat("a", 53)+"."+strings.Repeat("b", 20)).Name),
	Entry("long host", rollout.UpgradeName(strings.Repeat("h", 253), "m", "r")),
	Entry("short host", rollout.UpgradeName("h", "m", "")),
)

var _ = Describe("UpgradeName", func() {
	It("is one attempt per machine and rollout", func() {
		names := []string{
			rollout.UpgradeName("h", "m", "r"), rollout.UpgradeName("h", "m2", "r"), rollout.UpgradeName("h", "m", "r2"), rollout.UpgradeName("h", "mr", ""),
		}
		Expect(sets.New(names...)).To(HaveLen(len(names)))
	})
})

// made is a rollout of a template of a name.
func made(name string, former ...infrav1.ElementalRollout) *infrav1.ElementalRollout {
	of := template(`{"imageUri":"oci:x"}`)
	of.Name = name
	return rollout.New(of, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, infrav1.NodeUpgradeOption{}, former)
}

var _ = Describe("A rollout", func() {
	It("has a name that is not used again", func() {
		Expect(made("t").Name).To(MatchRegexp("^t-[a-z0-9]{8}$"))
		Expect(made("t").Name).NotTo(Equal(made("t").Name))
	})

	It("comes after all former ones to its Cluster, and is held by what held one of the same OS", func() {
		other, former, last := made("t"), made("t"), made("t")
		other.Spec.ClusterName, other.Spec.Revision, other.Spec.HeldBy = "other", 7, "else"
		former.Spec.HeldBy = "edge"
		last.Spec.Revision, last.Spec.OSVersionManagement = 2, template(`{"imageUri":"oci:y"}`).Spec.Template.Spec.OSVersionManagement
		next := made("t", *last, *other, *former)
		Expect(next.Spec).To(And(HaveField("Revision", BeEquivalentTo(3)), HaveField("HeldBy", "edge")))
	})

	It("is not held by what held one that was completed", func() {
		former := made("t")
		former.Spec.HeldBy, former.Spec.Completed = "edge", true
		Expect(made("t", *former).Spec.HeldBy).To(BeEmpty())
	})

	It("is the same last one for all, where two managers have made two of one revision", func() {
		a, b := made("a"), made("b")
		Expect(rollout.Last([]infrav1.ElementalRollout{*a, *b}, "c").Name).To(Equal(b.Name))
		Expect(rollout.Last([]infrav1.ElementalRollout{*b, *a}, "c").Name).To(Equal(b.Name))
	})

	DescribeTable("is current", func(isCurrent bool, change func(*infrav1.ElementalRollout)) {
		of := made("t")
		all := []infrav1.ElementalRollout{*of, *made("t", *of)}
		change(&all[1])
		wanted := template(`{"imageUri":"oci:x"}`).Spec.Template.Spec.OSVersionManagement
		found := rollout.Current(all, "c", wanted)
		Expect(found != nil && found.Name == all[1].Name).To(Equal(isCurrent))
		Expect(found != nil && found.Name == of.Name).To(BeFalse(), "it is not the last one")
	},
		Entry("that is the last one and rolls out the OS", true, func(*infrav1.ElementalRollout) {}),
		Entry("not after it was completed", false, func(r *infrav1.ElementalRollout) { r.Spec.Completed = true }),
		Entry("not with another OS", false, func(r *infrav1.ElementalRollout) {
			r.Spec.OSVersionManagement = template(`{"imageUri":"oci:y"}`).Spec.Template.Spec.OSVersionManagement
		}),
	)
})
