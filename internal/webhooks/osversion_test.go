// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

	It("keeps what this manager does not know, beside it and inside, and gets no defaults", func(ctx SpecContext) {
		const management = `{"osVersion":{"imageUri":"oci://os:v1","future":{"a":[1,"b"]},"imageURI":5},"firmware":{"version":"2"},"other":[1]}`
		template := templateWith(management)
		Expect(person.Create(ctx, template)).To(Succeed())
		Expect(managementOf(template)).To(MatchJSON(management))

		By("a change through the Go types")
		typed := &infrav1.ElementalMachineTemplate{}
		Expect(person.Get(ctx, client.ObjectKeyFromObject(template), typed)).To(Succeed())
		typed.Labels = map[string]string{"a": "b"}
		Expect(person.Update(ctx, typed)).To(Succeed())
		Expect(person.Get(ctx, client.ObjectKeyFromObject(template), template)).To(Succeed())
		Expect(managementOf(template)).To(MatchJSON(management))

		By("an empty one")
		template = templateWith(`{"osVersion":{}}`)
		Expect(person.Create(ctx, template)).To(Succeed())
		Expect(managementOf(template)).To(MatchJSON(`{"osVersion":{}}`))
	})

	It("is explained by kubectl, field by field", func(ctx SpecContext) {
		root := specs.Root()
		access := clientcmdapi.NewConfig()
		access.Clusters["c"] = &clientcmdapi.Cluster{Server: server.Config.Host, CertificateAuthorityData: server.Config.CAData}
		access.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: server.Config.CertData, ClientKeyData: server.Config.KeyData}
		access.Contexts["x"], access.CurrentContext = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}, "x"
		kubeconfig := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		Expect(clientcmd.WriteToFile(*access, kubeconfig)).To(Succeed())
		kubectl := exec.CommandContext(ctx, filepath.Join(root, "bin", "tools", "kubectl"), "explain", "emt."+path,
			"--kubeconfig", kubeconfig, "--cache-dir", GinkgoT().TempDir())
		said, err := kubectl.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(said))
		for _, key := range osversion.Keys() {
			Expect(string(said)).To(MatchRegexp(`(?m)^  `+key+`\s<(string|boolean)>\n    `+key+` (is|also|enables) `), "%s", key)
		}
		Expect(string(said)).To(ContainSubstring("OSVersion is the OS version"))
	})
})

// KubeadmControlPlane deletes a Machine whose ElementalMachine refuses what the template holds; what the other kinds hold is copied
// from there, and recreated by "clusterctl move". Of an ElementalMachine it is tried where there is no webhook: controllers/machine.
var _ = It("The schemas of ElementalHost and ElementalHostUpgrade take any OS version", func(ctx SpecContext) {
	anything := raw(`{"imageUri":5,"debug":"yes"}`)
	host := &infrav1.ElementalHost{ObjectMeta: meta("h-"), Spec: infrav1.ElementalHostSpec{OSVersionManagement: anything}}
	host.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "a1", OSVersionManagement: anything}
	Expect(person.Create(ctx, host)).To(Succeed())
	attempt := &infrav1.ElementalHostUpgrade{ObjectMeta: meta("u-"), Spec: infrav1.ElementalHostUpgradeSpec{
		ClusterName: "c", MachineName: "m", ElementalMachineName: "em", HostName: "h", ImageURI: "5", OSVersionManagement: anything,
	}}
	Expect(person.Create(ctx, attempt)).To(Succeed())
})
