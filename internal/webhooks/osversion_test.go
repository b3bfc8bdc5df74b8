// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// templateWith is an ElementalMachineTemplate with an osVersionManagement that no Go type would let through.
func templateWith(management string) *unstructured.Unstructured {
	GinkgoHelper()
	var value any
	Expect(json.Unmarshal([]byte(management), &value)).To(Succeed())
	template := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"osVersionManagement": value}}},
	}}
	template.SetGroupVersionKind(infrav1.GroupVersion.WithKind("ElementalMachineTemplate"))
	template.SetNamespace("default")
	template.SetGenerateName("t-")
	return template
}

// managementOf a template, as JSON.
func managementOf(template *unstructured.Unstructured) string {
	GinkgoHelper()
	value, found, err := unstructured.NestedFieldNoCopy(template.Object, "spec", "template", "spec", "osVersionManagement")
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(BeTrue())
	encoded, err := json.Marshal(value)
	Expect(err).NotTo(HaveOccurred())
	return string(encoded)
}

var _ = Describe("The OS version of an ElementalMachineTemplate", func() {
	const path = "spec.template.spec.osVersionManagement.osVersion"

	DescribeTable("is refused by the schema", func(ctx SpecContext, osVersion, refusal string) {
		management := `{"osVersion":` + osVersion + `}`
		expect(person.Create(ctx, templateWith(management)), refusal)

		template := templateWith(`{"osVersion":{"imageUri":"oci://os:v1"}}`)
		Expect(person.Create(ctx, template)).To(Succeed())
		patch := `{"spec":{"template":{"spec":{"osVersionManagement":` + management + `}}}}`
		expect(person.Patch(ctx, template, client.RawPatch("application/merge-patch+json", []byte(patch))), refusal)
	},
		Entry("with a number as image", `{"imageUri":5}`, path+`.imageUri: Invalid value: "integer": `+path+`.imageUri in body must be of type string`),
		Entry("with a list as ManagedOSVersion", `{"managedOSVersionName":["v2"]}`, path+".managedOSVersionName: Invalid value"),
		Entry("with a text as switch", `{"imageUri":"oci://os:v2","debug":"yes"}`, path+".debug: Invalid value"),
		Entry("with a number as switch", `{"imageUri":"oci://os:v2","upgradeRecovery":1}`, path+".upgradeRecovery: Invalid value"),
		Entry("as a text", `"oci://os:v2"`, path+": Invalid value"),
		Entry("as a list", `[]`, path+": Invalid value"),
	)

	It("keeps what other OS plugins read, drops what none does, and gets no defaults", func(ctx SpecContext) {
		const plugins = `"firmware":{"version":"2"},"other":[1]`
		template := templateWith(`{"osVersion":{"imageUri":"oci://os:v1","future":{"a":[1,"b"]}},` + plugins + `}`)
		Expect(person.Create(ctx, template)).To(Succeed())
		const kept = `{"osVersion":{"imageUri":"oci://os:v1"},` + plugins + `}`
		Expect(managementOf(template)).To(MatchJSON(kept))

		By("a change through the Go types")
		typed := &infrav1.ElementalMachineTemplate{}
		Expect(person.Get(ctx, client.ObjectKeyFromObject(template), typed)).To(Succeed())
		typed.Labels = map[string]string{"a": "b"}
		Expect(person.Update(ctx, typed)).To(Succeed())
		Expect(person.Get(ctx, client.ObjectKeyFromObject(template), template)).To(Succeed())
		Expect(managementOf(template)).To(MatchJSON(kept))

		By("an empty one")
		template = templateWith(`{"osVersion":{}}`)
		Expect(person.Create(ctx, template)).To(Succeed())
		Expect(managementOf(template)).To(MatchJSON(`{"osVersion":{}}`))
	})

	DescribeTable("has one image, by either name", func(ctx SpecContext, osVersion, refusal string) {
		expect(person.Create(ctx, templateWith(`{"osVersion":`+osVersion+`}`)), refusal)
	},
		Entry(nil, `{"imageURI":"oci://os:v1"}`, ""),
		Entry(nil, `{"imageUri":"oci://os:v1"}`, ""),
		Entry(nil, `{"imageURI":"oci://os:v1","imageUri":"oci://os:v1"}`, ""),
		Entry(nil, `{"imageURI":"oci://os:v1","imageUri":"oci://os:v2"}`, "imageUri is another name of imageURI, and they differ: remove imageUri"),
		Entry(nil, `{"imageURI":""}`, path+".imageURI in body should be at least 1 chars long"),
	)

	It("is refused by kubectl with a field that it does not have", func(ctx SpecContext) {
		patch := `{"spec":{"template":{"spec":{"osVersionManagement":{"osVersion":{"imageURL":"oci://os:v2"}}}}}}`
		template := templateWith(`{"osVersion":{"imageURI":"oci://os:v1"}}`)
		Expect(person.Create(ctx, template)).To(Succeed())
		Expect(kubectl(ctx, "patch", "emt", template.GetName(), "--type", "merge", "--patch", patch, "--dry-run=server")).To(
			ContainSubstring(`unknown field "` + path + `.imageURL"`))
	})

	It("is explained by kubectl, field by field", func(ctx SpecContext) {
		said := kubectl(ctx, "explain", "emt."+path)
		for _, key := range []string{"imageURI", "imageUri", "managedOSVersionName", "resolvedFrom", "upgradeRecovery", "debug"} {
			Expect(said).To(MatchRegexp(`(?m)^  `+key+`\s<(string|boolean)>\n    `+key+` (is|also|enables) `), "%s", key)
		}
		Expect(said).To(ContainSubstring("osVersion is the OS version"))
	})
})

// kubectl returns what the real one prints, also when it fails.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	access := clientcmdapi.NewConfig()
	access.Clusters["c"] = &clientcmdapi.Cluster{Server: server.Config.Host, CertificateAuthorityData: server.Config.CAData}
	access.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: server.Config.CertData, ClientKeyData: server.Config.KeyData}
	access.Contexts["x"], access.CurrentContext = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: "default"}, "x"
	kubeconfig := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*access, kubeconfig)).To(Succeed())
	args = append(args, "--kubeconfig", kubeconfig, "--cache-dir", GinkgoT().TempDir())
	said, err := exec.CommandContext(ctx, filepath.Join(specs.Root(), "bin", "tools", "kubectl"), args...).CombinedOutput()
	failed := (*exec.ExitError)(nil)
	Expect(err == nil || errors.As(err, &failed)).To(BeTrue(), "%v", err)
	return string(said)
}

// The schema of version 0.7 accepted anything as osVersion.
var _ = Describe("What version 0.7 has stored as OS", Ordered, func() {
	var template *unstructured.Unstructured
	const odd = `{"osVersion":{"imageUri":"oci://os:v1","debug":"yes","upgradeRecovery":null},"firmware":2}`

	BeforeAll(func(ctx SpecContext) {
		server.WithFormerSchema(ctx, "ElementalMachineTemplate", func() {
			template = templateWith(odd)
			Expect(person.Create(ctx, template)).To(Succeed())
		})
	})

	It("is read, with all others of its kind, and kept when something else changes", func(ctx SpecContext) {
		typed := &infrav1.ElementalMachineTemplate{}
		Expect(person.Get(ctx, client.ObjectKeyFromObject(template), typed)).To(Succeed())
		_, err := osversion.Decode(typed.Spec.Template.Spec.OSVersionManagement)
		Expect(err).To(MatchError("osVersionManagement.osVersion.debug is of JSON type string, and has to be a bool"))
		Expect(person.List(ctx, &infrav1.ElementalMachineTemplateList{})).To(Succeed())

		typed.Labels = map[string]string{"a": "b"}
		Expect(person.Update(ctx, typed)).To(Succeed())
		Expect(person.Get(ctx, client.ObjectKeyFromObject(template), template)).To(Succeed())
		Expect(managementOf(template)).To(MatchJSON(odd))
	})

	It("is corrected by a patch", func(ctx SpecContext) {
		patch := []byte(`{"spec":{"template":{"spec":{"osVersionManagement":{"osVersion":{"debug":true}}}}}}`)
		Expect(person.Patch(ctx, template, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
		typed := &infrav1.ElementalMachineTemplate{}
		Expect(person.Get(ctx, client.ObjectKeyFromObject(template), typed)).To(Succeed())
		Expect(osversion.Image(typed.Spec.Template.Spec.OSVersionManagement)).To(Equal("oci://os:v1"))
		Expect(typed.Spec.Template.Spec.OSVersionManagement.Plugins).To(HaveKey("firmware"))
	})
})

var _ = DescribeTable("The schema of the OS is the same in", func(ctx SpecContext, object client.Object) {
	expect(person.Create(ctx, object), "osVersionManagement.osVersion.debug: Invalid value")
},
	Entry("ElementalMachines", &infrav1.ElementalMachine{ObjectMeta: meta("m-"), Spec: infrav1.ElementalMachineSpec{OSVersionManagement: noOS}}),
	Entry("ElementalHosts", &infrav1.ElementalHost{ObjectMeta: meta("h-"), Spec: infrav1.ElementalHostSpec{OSVersionManagement: noOS}}),
	Entry("what ElementalHosts are upgraded to", &infrav1.ElementalHost{ObjectMeta: meta("h-"), Spec: infrav1.ElementalHostSpec{
		Upgrade: &infrav1.HostUpgradeRequest{Attempt: "a1", OSVersionManagement: noOS},
	}}),
	Entry("ElementalHostUpgrades", &infrav1.ElementalHostUpgrade{ObjectMeta: meta("u-"), Spec: infrav1.ElementalHostUpgradeSpec{
		ClusterName: "c", MachineName: "m", ElementalMachineName: "em", HostName: "h", ImageURI: "5", OSVersionManagement: noOS,
	}}),
	Entry("ElementalRollouts", &infrav1.ElementalRollout{ObjectMeta: meta("r-"), Spec: infrav1.ElementalRolloutSpec{
		ClusterName: "c", TemplateName: "t", Revision: 1, OSVersionManagement: noOS,
	}}),
)

var noOS = specs.OS(`{"debug":"yes"}`)
