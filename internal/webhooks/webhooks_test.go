// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	labimage "github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func selector(rack string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"rack": rack}}
}

func meta(prefix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", GenerateName: prefix}
}

// expect compares an answer with what is expected: "" is acceptance, anything else has to be in the text
// of the refusal, which has to name the object.
func expect(err error, refusal string) {
	GinkgoHelper()
	if refusal == "" {
		Expect(err).NotTo(HaveOccurred())
		return
	}
	Expect(apierrors.IsInvalid(err) || apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	Expect(err).To(MatchError(ContainSubstring(refusal)))
	Expect(err).To(MatchError(ContainSubstring("Elemental")))
}

var _ = Describe("ElementalMachineTemplate", func() {
	make := func(change func(*infrav1.ElementalMachineTemplate)) *infrav1.ElementalMachineTemplate {
		template := &infrav1.ElementalMachineTemplate{ObjectMeta: meta("t-")}
		template.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("oci://os:v1")
		template.Spec.Template.Spec.Selector = selector("a")
		change(template)
		return template
	}

	DescribeTable("is made",
		func(ctx SpecContext, change func(*infrav1.ElementalMachineTemplate), refusal string) {
			expect(person.Create(ctx, make(change)), refusal)
		},
		Entry("without an OS", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{}
		}, ""),
		Entry("with keys of another plugin", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{Plugins: map[string]runtime.RawExtension{"other": {Raw: []byte(`[1]`)}}}
		}, ""),
		Entry("not with an image that is in no registry", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("http://os:v1")
		}, `spec.template.spec.osVersionManagement.osVersion.imageURI: Invalid value: "http://os:v1": image "http://os:v1" is not in a registry: use oci://`),
		Entry("not with a selector that selects nothing valid", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.Selector = selector("no value!")
		}, "spec.template.spec.selector"),
		Entry("not with a provider ID", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.ProviderID = "elemental://a/b"
		}, "spec.template.spec.providerID"),
		Entry("not with a host", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.HostRef = &infrav1.LocalReference{Name: "h1"}
		}, "spec.template.spec.hostRef"),
	)

	const immutable = "only osVersionManagement may be changed"
	DescribeTable("is changed",
		func(ctx SpecContext, change func(*infrav1.ElementalMachineTemplate), dryRun bool, refusal string) {
			template := make(func(*infrav1.ElementalMachineTemplate) {})
			Expect(person.Create(ctx, template)).To(Succeed())
			change(template)
			var options []client.UpdateOption
			if dryRun {
				options = append(options, client.DryRunAll)
			}
			expect(person.Update(ctx, template, options...), refusal)
		},
		Entry("in its OS", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2")
		}, false, ""),
		Entry("to no OS", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.OSVersionManagement = infrav1.OSVersionManagement{}
		}, false, ""),
		Entry("in the metadata of its machines", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.ObjectMeta.Labels = map[string]string{"a": "b"}
		}, false, ""),
		Entry("not to a directory", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.OSVersionManagement = osversion.OfImage("dir:///os")
		}, false, "is not in a registry"),
		Entry("not in its selector", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.Selector = selector("b")
		}, false, immutable),
		Entry("in its selector, by Cluster API's dry run", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.Selector = selector("b")
			t.Annotations = map[string]string{clusterv1.TopologyDryRunAnnotation: ""}
		}, true, ""),
		Entry("not in its selector, by anybody's dry run", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.Selector = selector("b")
		}, true, immutable),
		Entry("not in its selector, by something that claims to be a dry run", func(t *infrav1.ElementalMachineTemplate) {
			t.Spec.Template.Spec.Selector = selector("b")
			t.Annotations = map[string]string{clusterv1.TopologyDryRunAnnotation: ""}
		}, false, immutable),
	)
})

var _ = DescribeTable("ElementalClusterTemplate is changed",
	func(ctx SpecContext, change func(*infrav1.ElementalClusterTemplate), dryRun bool, refusal string) {
		template := &infrav1.ElementalClusterTemplate{ObjectMeta: meta("ct-")}
		template.Spec.Template.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "a", Port: 1}
		Expect(person.Create(ctx, template)).To(Succeed())
		change(template)
		var options []client.UpdateOption
		if dryRun {
			options = append(options, client.DryRunAll)
		}
		expect(person.Update(ctx, template, options...), refusal)
	},
	Entry("in its labels", func(t *infrav1.ElementalClusterTemplate) { t.Labels = map[string]string{"a": "b"} }, false, ""),
	Entry("not in its spec", func(t *infrav1.ElementalClusterTemplate) {
		t.Spec.Template.Spec.NodeUpgradeOption.MaxConcurrent = 2
	}, false, "spec.template.spec: Forbidden: it is immutable"),
	Entry("in its spec, by Cluster API's dry run", func(t *infrav1.ElementalClusterTemplate) {
		t.Spec.Template.Spec.NodeUpgradeOption.MaxConcurrent = 2
		t.Annotations = map[string]string{clusterv1.TopologyDryRunAnnotation: ""}
	}, true, ""),
)

var _ = DescribeTable("ElementalMachine is changed",
	func(ctx SpecContext, associated bool, change func(*infrav1.ElementalMachine), refusal string) {
		machine := &infrav1.ElementalMachine{ObjectMeta: meta("m-")}
		machine.Spec.Selector = selector("a")
		machine.Spec.OSVersionManagement = osversion.OfImage("oci://os:v1")
		if associated {
			machine.Spec.HostRef = &infrav1.LocalReference{Name: "h1", UID: "1"}
			machine.Spec.ProviderID = "elemental://default/h1"
		}
		Expect(person.Create(ctx, machine)).To(Succeed())
		change(machine)
		expect(person.Update(ctx, machine), refusal)
	},
	Entry("in its OS", true, func(m *infrav1.ElementalMachine) { m.Spec.OSVersionManagement = osversion.OfImage("oci://os:v2") }, ""),
	Entry("not to an OS that is none", true, func(m *infrav1.ElementalMachine) { m.Spec.OSVersionManagement = specs.OS(`[]`) },
		"spec.osVersionManagement.osVersion"),
	Entry("not to an image that is none", true, func(m *infrav1.ElementalMachine) { m.Spec.OSVersionManagement = osversion.OfImage("oci://a b") },
		"spec.osVersionManagement.osVersion.imageURI"),
	Entry("in its selector, while it has no host", false, func(m *infrav1.ElementalMachine) { m.Spec.Selector = selector("b") }, ""),
	Entry("not in its selector, once it has a host", true, func(m *infrav1.ElementalMachine) { m.Spec.Selector = nil }, "spec.selector"),
	Entry("by the first host", false, func(m *infrav1.ElementalMachine) {
		m.Spec.HostRef = &infrav1.LocalReference{Name: "h1"}
		m.Spec.ProviderID = "elemental://default/h1"
	}, ""),
	Entry("in the UID of its host", true, func(m *infrav1.ElementalMachine) { m.Spec.HostRef.UID = "2" }, ""),
	Entry("not to another host", true, func(m *infrav1.ElementalMachine) { m.Spec.HostRef.Name = "h2" }, "spec.hostRef"),
	Entry("not to no host", true, func(m *infrav1.ElementalMachine) { m.Spec.HostRef = nil }, "spec.hostRef"),
	Entry("not to another provider ID", true, func(m *infrav1.ElementalMachine) { m.Spec.ProviderID = "elemental://default/h2" }, "providerID"),
	Entry("not to no provider ID", true, func(m *infrav1.ElementalMachine) { m.Spec.ProviderID = "" }, "providerID"),
)

var _ = Describe("ElementalCluster", func() {
	DescribeTable("is made",
		func(ctx SpecContext, change func(*infrav1.NodeUpgradeOption), refusal, warning string) {
			cluster := &infrav1.ElementalCluster{ObjectMeta: meta("c-")}
			change(&cluster.Spec.NodeUpgradeOption)
			person.Warnings = nil
			expect(person.Create(ctx, cluster), refusal)
			if warning == "" {
				Expect(person.Warnings).To(BeEmpty())
			} else {
				Expect(person.Warnings).To(ContainElement(ContainSubstring(warning)))
			}
		},
		Entry("without options", func(*infrav1.NodeUpgradeOption) {}, "", ""),
		Entry("with nodes to pause", func(o *infrav1.NodeUpgradeOption) {
			o.Strategy = infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual, PauseNodes: []string{"node-2"}}
		}, "", ""),
		Entry("with nodes that are not paused", func(o *infrav1.NodeUpgradeOption) {
			o.Strategy.PauseNodes = []string{"node-2"}
		}, "", "spec.nodeUpgradeOption.strategy.pauseNodes has no effect"),
		Entry("not with a prefetch that the elemental CLI cannot do", func(o *infrav1.NodeUpgradeOption) { o.Prefetch = "Stage" },
			`spec.nodeUpgradeOption.prefetch: Unsupported value: "Stage": supported values: "Download", "None"`, ""),
		Entry("not with names that no node has", func(o *infrav1.NodeUpgradeOption) {
			o.Strategy = infrav1.NodeUpgradeStrategy{Mode: infrav1.NodeUpgradeModeManual, PauseNodes: []string{"node-1", "Node 2"}}
		}, "spec.nodeUpgradeOption.strategy.pauseNodes[1]", ""),
		Entry("not with a time-out of nothing", func(o *infrav1.NodeUpgradeOption) {
			o.Timeouts.RebootSeconds = new(int32(0))
		}, "spec.nodeUpgradeOption.timeouts.rebootSeconds", ""),
		Entry("not with a time-out before it began", func(o *infrav1.NodeUpgradeOption) {
			o.Timeouts.DrainSeconds = new(int32(-60))
		}, "spec.nodeUpgradeOption.timeouts.drainSeconds", ""),
		Entry("not with a mode that is none", func(o *infrav1.NodeUpgradeOption) { o.Strategy.Mode = "sometimes" },
			"spec.nodeUpgradeOption.strategy.mode", ""),
	)
})

var _ = Describe("imageVerification", func() {
	key := func() string {
		GinkgoHelper()
		signer, err := labimage.NewSigner()
		Expect(err).NotTo(HaveOccurred())
		return signer.PublicKey
	}
	rule := func(prefix string, keys ...string) infrav1.ImageVerificationRule {
		return infrav1.ImageVerificationRule{Prefix: prefix, PublicKeys: keys}
	}
	identified := func(identities ...infrav1.ImageIdentity) infrav1.ImageVerification {
		return infrav1.ImageVerification{
			TrustedRootRef: &infrav1.TrustedRootReference{Name: "sigstore"},
			Rules:          []infrav1.ImageVerificationRule{{Prefix: "a.test", Identities: identities}},
		}
	}

	DescribeTable("is that of a cluster, of the clusters of a template, and of a registration",
		func(ctx SpecContext, make func() infrav1.ImageVerification, refusal string) {
			verification := make()
			cluster := &infrav1.ElementalCluster{ObjectMeta: meta("c-")}
			cluster.Spec.ImageVerification = &verification
			template := &infrav1.ElementalClusterTemplate{ObjectMeta: meta("c-")}
			template.Spec.Template.Spec.ImageVerification = &verification
			registration := &infrav1.ElementalRegistration{ObjectMeta: meta("r-")}
			registration.Spec.ImageVerification = &verification
			for _, object := range []client.Object{cluster, template, registration} {
				expect(person.Create(ctx, object), refusal)
			}
		},
		Entry("with keys for prefixes", func() infrav1.ImageVerification {
			return infrav1.ImageVerification{Unmatched: infrav1.UnmatchedImageAccept, Rules: []infrav1.ImageVerificationRule{
				rule("registry.test", key()), rule("registry.test:5000/os", key(), key()),
			}}
		}, ""),
		Entry("not with a key that is none", func() infrav1.ImageVerification {
			return infrav1.ImageVerification{Rules: []infrav1.ImageVerificationRule{rule("a.test", key()), rule("b.test", key(), "ssh-rsa AAAA")}}
		}, "imageVerification.rules[1].publicKeys[1]"),
		Entry("not with a prefix that is none", func() infrav1.ImageVerification {
			return infrav1.ImageVerification{Rules: []infrav1.ImageVerificationRule{rule("oci://registry.test/os:v1", key())}}
		}, "imageVerification.rules[0].prefix"),
		Entry("not with one prefix twice", func() infrav1.ImageVerification {
			return infrav1.ImageVerification{Rules: []infrav1.ImageVerificationRule{rule("docker.io/os", key()), rule("index.docker.io/os", key())}}
		}, "imageVerification.rules[1].prefix: Duplicate value"),
		Entry("with identities beside keys", func() infrav1.ImageVerification {
			both := identified(infrav1.ImageIdentity{Issuer: "https://i.test", Subject: "a"}, infrav1.ImageIdentity{Issuer: "https://i.test", SubjectRegExp: "a.*"})
			both.Rules[0].PublicKeys = []string{key()}
			return both
		}, ""),
		Entry("not with neither", func() infrav1.ImageVerification {
			return infrav1.ImageVerification{Rules: []infrav1.ImageVerificationRule{rule("a.test")}}
		}, "a rule needs publicKeys, identities, or both"),
		Entry("not with identities and no trusted root", func() infrav1.ImageVerification {
			rootless := identified(infrav1.ImageIdentity{Issuer: "https://i.test", Subject: "a"})
			rootless.TrustedRootRef = nil
			return rootless
		}, "rules with identities need trustedRootRef"),
		Entry("not with an identity that has no subject", func() infrav1.ImageVerification {
			return identified(infrav1.ImageIdentity{Issuer: "https://i.test"})
		}, "an identity needs either subject or subjectRegExp"),
		Entry("not with one that has two", func() infrav1.ImageVerification {
			return identified(infrav1.ImageIdentity{Issuer: "https://i.test", Subject: "a", SubjectRegExp: "a"})
		}, "an identity needs either subject or subjectRegExp"),
		Entry("not with one that has no issuer", func() infrav1.ImageVerification {
			return identified(infrav1.ImageIdentity{Subject: "a"})
		}, "imageVerification.rules[0].identities[0].issuer"),
		Entry("not with an expression that is none by itself", func() infrav1.ImageVerification {
			return identified(infrav1.ImageIdentity{Issuer: "https://i.test", SubjectRegExp: "a)|(b"})
		}, "imageVerification.rules[0].identities[0].subjectRegExp"),
		Entry("nor one that quotes what follows it", func() infrav1.ImageVerification {
			return identified(infrav1.ImageIdentity{Issuer: "https://i.test", SubjectRegExp: `\Qa`})
		}, "imageVerification.rules[0].identities[0].subjectRegExp"),
		Entry("not without rules", func() infrav1.ImageVerification {
			return infrav1.ImageVerification{Unmatched: infrav1.UnmatchedImageAccept}
		}, "imageVerification.rules"),
	)
})

var _ = DescribeTable("insecureRegistries of a registration are", func(ctx SpecContext, refusal string, prefixes ...string) {
	registration := &infrav1.ElementalRegistration{ObjectMeta: meta("r-")}
	Expect(person.Create(ctx, registration)).To(Succeed())
	registration.Spec.Config.Elemental.Agent.InsecureRegistries = prefixes
	expect(person.Update(ctx, registration), refusal)
},
	Entry("prefixes of images", "", "192.168.122.10:30000", "registry.test/os"),
	Entry("no URIs", "spec.config.elemental.agent.insecureRegistries[1]: Invalid value", "registry.test", "http://registry.test"),
	Entry("no patterns", "spec.config.elemental.agent.insecureRegistries[0]: Invalid value", "*"),
	Entry("none twice", "Duplicate value", "registry.test", "registry.test"),
)
