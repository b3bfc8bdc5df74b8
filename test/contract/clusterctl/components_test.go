// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/yaml"
)

const (
	infrastructure = "infrastructure-components.yaml"
	extension      = "runtime-extension-components.yaml"
)

// global matches kinds without a namespace. Neither kustomize nor clusterctl knows that policies are cluster-scoped;
// the API server drops the namespace that they write.
var global = regexp.MustCompile(`^(Namespace|CustomResourceDefinition|ClusterRole|ClusterRoleBinding|.*WebhookConfiguration|ExtensionConfig)$`)

var _ = Describe("Metadata YAML", func() {
	It("Validation Rules: is of the kind and version that clusterctl accepts, with a series for this release that names the contract of the CRDs", func() {
		metadata := &clusterctlv1.Metadata{}
		Expect(yaml.UnmarshalStrict([]byte(asset("metadata.yaml")), metadata)).To(Succeed())
		Expect(metadata.APIVersion).To(Equal("clusterctl.cluster.x-k8s.io/v1alpha3"))
		Expect(metadata.Kind).To(Equal("Metadata"))
		Expect(metadata.ReleaseSeries).To(ContainElement(clusterctlv1.ReleaseSeries{Major: 0, Minor: 8, Contract: "v1beta2"}))
		for _, crd := range objects(infrastructure).CRDs() {
			Expect(crd.GetLabels()).To(HaveKeyWithValue("cluster.x-k8s.io/v1beta2", "v1beta1"), crd.GetName())
		}
	})

	It("has the series of the predecessor, from which clusterctl upgrades, and releases none of them", func() {
		metadata := &clusterctlv1.Metadata{}
		Expect(yaml.UnmarshalStrict([]byte(asset("metadata.yaml")), metadata)).To(Succeed())
		for minor := range int32(8) {
			Expect(metadata.ReleaseSeries).To(ContainElement(clusterctlv1.ReleaseSeries{Major: 0, Minor: minor, Contract: "v1beta1"}))
		}
		said, err := writeRelease("v0.7.1", GinkgoT().TempDir())
		Expect(err).To(HaveOccurred())
		Expect(said).To(ContainSubstring("metadata.yaml has no release series for v0.7.1 with contract v1beta2: add it"))
	})

	It("has a series for every released tag", func() {
		said, err := writeRelease("v7.0.0", GinkgoT().TempDir())
		Expect(err).To(HaveOccurred())
		Expect(said).To(ContainSubstring("metadata.yaml has no release series for v7.0.0 with contract v1beta2: add it"))
	})
})

var _ = DescribeTable("Components YAML",
	func(name, label string) {
		By("Target namespace: one Namespace object, and everything else in it")
		namespaces := objects(name).OfKind("Namespace")
		Expect(namespaces).To(HaveLen(1))
		for _, object := range objects(name) {
			if global.MatchString(object.GetKind()) {
				Expect(object.GetNamespace()).To(BeEmpty(), describe(object))
			} else {
				Expect(object.GetNamespace()).To(Equal(namespaces[0].GetName()), describe(object))
			}
		}
		By("Labels: everything says which provider it belongs to")
		for _, object := range objects(name) {
			Expect(object.GetLabels()).To(HaveKeyWithValue("cluster.x-k8s.io/provider", label), describe(object))
		}
		By("Variables: all can be parsed, wherever they stand, and those of the provider carry its name")
		rest := regexp.MustCompile(`\$\{[A-Z0-9_]+(:=[^}]*|%%:\*)?\}`).ReplaceAllString(asset(name), "")
		Expect(rest).NotTo(MatchRegexp(`\$\{.*`), "clusterctl cannot read it: is there a placeholder in the description of a field?")
		for _, variable := range variables(asset(name)) {
			Expect(variable).To(MatchRegexp(`^(ELEMENTAL|CAPI)_`))
		}
	},
	Entry("of the infrastructure provider", infrastructure, "infrastructure-elemental"),
	Entry("of the runtime extension", extension, "runtime-extension-elemental"),
)

var _ = Describe("Components YAML of the infrastructure provider", func() {
	deployments := func() []appsv1.Deployment {
		GinkgoHelper()
		found := []appsv1.Deployment{}
		for _, object := range objects(infrastructure).OfKind("Deployment") {
			deployment := appsv1.Deployment{}
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment)).To(Succeed())
			found = append(found, deployment)
		}
		return found
	}

	It("Controllers & Watching namespace: a Deployment whose container is called manager, with a canonical image of this release", func() {
		Expect(deployments()).To(HaveLen(1))
		containers := deployments()[0].Spec.Template.Spec.Containers
		Expect(containers).To(ConsistOf(And(
			HaveField("Name", "manager"), HaveField("Image", "registry.example.com/elemental/manager:"+tag))))
	})

	It("Controllers & Watching namespace: the manager has the flag --namespace, and is installed to watch all", func() {
		usage, _ := exec.Command(filepath.Join(root, "bin", "manager"), "--help").CombinedOutput()
		Expect(string(usage)).To(MatchRegexp(`(?m)^ +--namespace string`))
		Expect(deployments()[0].Spec.Template.Spec.Containers[0].Args).NotTo(ContainElement(HavePrefix("--namespace")))
	})

	It("binds each of its policies, which the API server does not enforce otherwise", func() {
		policies, bound := []string{}, []string{}
		for _, object := range objects(infrastructure).Policies() {
			if name, isBinding, _ := unstructured.NestedString(object.Object, "spec", "policyName"); isBinding {
				bound = append(bound, name)
			} else {
				policies = append(policies, object.GetName())
			}
		}
		Expect(policies).To(ContainElement("elemental-os-immutable"))
		Expect(bound).To(ConsistOf(policies))
	})

	It("starts the manager with flags, ports and directories that the binary supports", func() {
		said, _ := exec.Command(filepath.Join(root, "bin", "manager"), "--help").CombinedOutput()
		usage := string(said)
		manager := deployments()[0].Spec.Template.Spec.Containers[0]
		for _, arg := range manager.Args {
			flag, _, _ := strings.Cut(arg, "=")
			Expect(usage).To(MatchRegexp(`(?m)^ +(-v, )?` + flag + `\b`))
		}
		Expect(manager.Ports).To(HaveLen(5))
		for _, port := range manager.Ports {
			Expect(usage).To(MatchRegexp(fmt.Sprintf(`\(default "?:?%d"?\)`, port.ContainerPort)), port.Name)
		}
		Expect(manager.VolumeMounts).To(HaveLen(4))
		for _, mount := range manager.VolumeMounts {
			if mount.Name == "extension-clients" { // optional: used only by a flag that names a file in it
				continue
			}
			Expect(usage).To(MatchRegexp(`\(default "` + mount.MountPath + `/?"\)`))
		}
		for _, probe := range []*corev1.Probe{manager.ReadinessProbe, manager.LivenessProbe} {
			Expect(manager.Ports).To(ContainElement(HaveField("Name", probe.HTTPGet.Port.StrVal)))
		}
	})

	It("has the hooks reached from the namespaces of Cluster API alone, and every other port from anywhere", func() {
		pod := deployments()[0].Spec.Template
		others, from := []string{}, []networkingv1.NetworkPolicyPeer(nil)
		for _, object := range objects(infrastructure).OfKind("NetworkPolicy") {
			policy := networkingv1.NetworkPolicy{}
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &policy)).To(Succeed())
			Expect(policy.Spec.PodSelector.MatchExpressions).To(BeEmpty())
			for key, value := range policy.Spec.PodSelector.MatchLabels {
				Expect(pod.Labels).To(HaveKeyWithValue(key, value))
			}
			for _, rule := range policy.Spec.Ingress {
				for _, port := range rule.Ports {
					if port.Port.StrVal == "hooks" {
						from = append(from, rule.From...)
						continue
					}
					Expect(rule.From).To(BeEmpty(), port.Port.StrVal)
					others = append(others, port.Port.StrVal)
				}
			}
		}
		declared := []string{}
		for _, port := range pod.Spec.Containers[0].Ports {
			declared = append(declared, port.Name)
		}
		Expect(others).To(ConsistOf(slices.DeleteFunc(declared, func(name string) bool { return name == "hooks" })))
		Expect(from).To(HaveLen(1))
		Expect(from[0].PodSelector).To(BeNil())
		Expect(from[0].NamespaceSelector.MatchExpressions).To(ConsistOf(And(
			HaveField("Key", corev1.LabelMetadataName), HaveField("Operator", metav1.LabelSelectorOpIn),
			HaveField("Values", ContainElements("capi-system", "capi-kubeadm-control-plane-system", "rke2-control-plane-system")))))
	})

	It("mounts the CA of client certificates where docs/install.md names it, and requires none by default", func() {
		manager := deployments()[0].Spec.Template.Spec.Containers[0]
		Expect(manager.VolumeMounts).To(ContainElement(And(HaveField("Name", "extension-clients"), HaveField("MountPath", "/etc/elemental/extension-clients"))))
		page, err := os.ReadFile(filepath.Join(root, "docs", "install.md"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(page)).To(ContainSubstring("ELEMENTAL_EXTENSION_CLIENT_CA_FILE=/etc/elemental/extension-clients/ca.crt"))
		Expect(asset(infrastructure)).To(And(
			ContainSubstring(`value: ${ELEMENTAL_EXTENSION_CLIENT_CA_FILE:=""}`), ContainSubstring(`value: ${ELEMENTAL_EXTENSION_CLIENT_NAMES:=""}`)))
		for _, arg := range []string{"--runtime-extension-client-ca-file=$(EXTENSION_CLIENT_CA_FILE)", "--runtime-extension-client-names=$(EXTENSION_CLIENT_NAMES)"} {
			Expect(manager.Args).To(ContainElement(arg))
		}
	})

	It("runs as a non-root user without capabilities", func() {
		pod := deployments()[0].Spec.Template.Spec
		Expect(pod.SecurityContext.RunAsNonRoot).To(HaveValue(BeTrue()))
		Expect(pod.SecurityContext.SeccompProfile.Type).To(Equal(corev1.SeccompProfileTypeRuntimeDefault))
		Expect(pod.Containers[0].SecurityContext).To(And(
			HaveField("RunAsUser", HaveValue(BeEquivalentTo(65532))), HaveField("AllowPrivilegeEscalation", HaveValue(BeFalse())),
			HaveField("ReadOnlyRootFilesystem", HaveValue(BeTrue())), HaveField("Capabilities.Drop", ConsistOf(corev1.Capability("ALL")))))
	})

	It("never brings an ExtensionConfig, which Cluster API refuses while RuntimeSDK is off", func() {
		Expect(objects(infrastructure).OfKind("ExtensionConfig")).To(BeEmpty())
	})

	It("Move: what no Cluster owns is labelled to be moved, the hosts together with what they own", func() {
		labels := map[string][]string{}
		for _, crd := range objects(infrastructure).CRDs() {
			for _, label := range []string{clusterctlv1.ClusterctlMoveLabel, clusterctlv1.ClusterctlMoveHierarchyLabel} {
				if _, has := crd.GetLabels()[label]; has {
					labels[label] = append(labels[label], crd.GetName())
				}
			}
		}
		Expect(labels).To(Equal(map[string][]string{
			clusterctlv1.ClusterctlMoveLabel: {
				"elementalhosts.infrastructure.cluster.x-k8s.io", "elementalregistrations.infrastructure.cluster.x-k8s.io",
			},
			clusterctlv1.ClusterctlMoveHierarchyLabel: {"elementalhosts.infrastructure.cluster.x-k8s.io"},
		}))
	})

	It("CRDs: are called as Cluster API calculates their names, and are of its category", func() {
		for _, crd := range objects(infrastructure).CRDs() {
			group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
			Expect(crd.GetName()).To(Equal(contract.CalculateCRDName(group, kind)))
			categories, _, _ := unstructured.NestedStringSlice(crd.Object, "spec", "names", "categories")
			Expect(categories).To(ContainElement("cluster-api"), crd.GetName())
		}
	})
})

var _ = Describe("Components YAML of the runtime extension", func() {
	It("contains the ExtensionConfig, its Service and its certificate, and no Deployment of its own", func() {
		kinds := []string{}
		for _, object := range objects(extension) {
			kinds = append(kinds, object.GetKind())
		}
		Expect(kinds).To(ConsistOf("Namespace", "Service", "Issuer", "Certificate", "ExtensionConfig"))
	})

	It("is consistent: ExtensionConfig, Service, certificate, and the manager's Pods", func() {
		all := objects(extension)
		config, service, certificate := all.OfKind("ExtensionConfig")[0], all.OfKind("Service")[0], all.OfKind("Certificate")[0]
		name := service.GetName() + "." + service.GetNamespace() + ".svc"

		called, _, _ := unstructured.NestedMap(config.Object, "spec", "clientConfig", "service")
		target, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
		Expect(target).To(ConsistOf(HaveKeyWithValue("targetPort", "hooks")), "not that of the webhooks")
		Expect(called).To(And(HaveKeyWithValue("name", service.GetName()), HaveKeyWithValue("namespace", service.GetNamespace())))

		names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
		Expect(names).To(ContainElement(name))
		secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
		Expect(config.GetAnnotations()).To(HaveKeyWithValue("runtime.cluster.x-k8s.io/inject-ca-from-secret", service.GetNamespace()+"/"+secret))
		Expect(asset(infrastructure)).To(MatchRegexp(`secret:\n +optional: true\n +secretName: `+secret), "the manager mounts it")

		selector, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
		pods, _, _ := unstructured.NestedStringMap(objects(infrastructure).OfKind("Deployment")[0].Object, "spec", "template", "metadata", "labels")
		for key, value := range selector {
			Expect(pods).To(HaveKeyWithValue(key, value))
		}
	})
})

// variables that a file uses, by name.
func variables(content string) []string {
	found := map[string]struct{}{}
	for line := range strings.Lines(content) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, match := range regexp.MustCompile(`\$\{([A-Z0-9_]+)`).FindAllStringSubmatch(line, -1) {
			found[match[1]] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
