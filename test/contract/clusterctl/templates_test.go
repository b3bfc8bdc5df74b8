// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const imageVariable = "ELEMENTAL_OS_IMAGE"

// flavors of the release; "" is the default.
func flavors() []string {
	GinkgoHelper()
	found := []string{}
	for _, name := range assets("cluster-template*.yaml") {
		found = append(found, strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(name, "cluster-template"), ".yaml"), "-"))
	}
	return found
}

var _ = Describe("Workload cluster templates", func() {
	It("Naming conventions: a default, and flavors for kubeadm, RKE2 and K3s: several nodes, a single one, a ClusterClass", func() {
		Expect(flavors()).To(ConsistOf("",
			"kubeadm", "kubeadm-single-node", "kubeadm-clusterclass",
			"rke2", "rke2-single-node", "rke2-clusterclass",
			"k3s", "k3s-single-node", "k3s-clusterclass"))
	})

	It("Target namespace: no object names one, and none creates it", func() {
		for _, name := range append(assets("cluster-template*.yaml"), assets("clusterclass-*.yaml")...) {
			Expect(objects(name).OfKind("Namespace")).To(BeEmpty(), name)
			for _, object := range objects(name) {
				Expect(object.GetNamespace()).To(BeEmpty(), name+": "+describe(object))
			}
		}
	})

	It("Variables: the common ones have their common names, and the OS image is a variable of every template", func() {
		for _, name := range assets("cluster-template*.yaml") {
			expected := []string{"CLUSTER_NAME", "KUBERNETES_VERSION", imageVariable}
			if !strings.Contains(name, "single-node") {
				expected = append(expected, "CONTROL_PLANE_MACHINE_COUNT", "WORKER_MACHINE_COUNT")
			}
			Expect(variables(asset(name))).To(ContainElements(expected), name)
		}
	})

	It("Variables: have one default wherever they are used, and the image has none", func() {
		defaults := map[string][]string{}
		for _, name := range assets("cluster-template*.yaml") {
			for _, match := range regexp.MustCompile(`\$\{([A-Z0-9_]+)(:=)?([^}]*)\}`).FindAllStringSubmatch(asset(name), -1) {
				if !slices.Contains(defaults[match[1]], match[3]) {
					defaults[match[1]] = append(defaults[match[1]], match[3])
				}
			}
		}
		for name, values := range defaults {
			Expect(values).To(HaveLen(1), name)
		}
		Expect(defaults).To(HaveKeyWithValue(imageVariable, []string{""}))
	})

	It("Variables: are all in the users' documentation, with their defaults, and none that does not exist", func() {
		table := documented()
		used := map[string]string{}
		for _, name := range assets("cluster-template*.yaml") {
			for _, match := range regexp.MustCompile(`\$\{([A-Z0-9_]+)(?::=)?([^}]*)\}`).FindAllStringSubmatch(asset(name), -1) {
				used[match[1]] = match[2]
			}
		}
		Expect(table).To(Equal(used))
	})

	It("create Machines that are upgraded in place: no surge, where there is a MachineDeployment", func() {
		for _, name := range assets("cluster-template*.yaml") {
			for _, deployment := range objects(name).OfKind("MachineDeployment") {
				surge, _, _ := unstructured.NestedFieldNoCopy(deployment.Object, "spec", "rollout", "strategy", "rollingUpdate", "maxSurge")
				Expect(surge).To(BeEquivalentTo(0), name)
			}
		}
	})
})

var _ = Describe("ClusterClass definitions", func() {
	It("Naming conventions: the file is called as the class, and every template with a topology has its class", func() {
		for _, name := range assets("clusterclass-*.yaml") {
			classes := objects(name).OfKind("ClusterClass")
			Expect(classes).To(HaveLen(1))
			Expect(name).To(Equal("clusterclass-" + classes[0].GetName() + ".yaml"))
		}
		for _, name := range assets("cluster-template-*-clusterclass.yaml") {
			class, _, _ := unstructured.NestedString(objects(name)[0].Object, "spec", "topology", "classRef", "name")
			Expect(assets("clusterclass-*.yaml")).To(ContainElement("clusterclass-" + class + ".yaml"))
		}
	})

	It("Variables: there are none", func() {
		for _, name := range assets("clusterclass-*.yaml") {
			Expect(variables(asset(name))).To(BeEmpty(), name)
		}
	})

	It("Target namespace: objects are not shared among classes, so each carries the name of its own", func() {
		for _, name := range assets("clusterclass-*.yaml") {
			class := strings.TrimSuffix(strings.TrimPrefix(name, "clusterclass-"), ".yaml")
			for _, object := range objects(name) {
				Expect(object.GetName()).To(HavePrefix(class), name)
			}
		}
	})
})

// documented are the variables of the table in docs/first-cluster.md, with their defaults.
func documented() map[string]string {
	GinkgoHelper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "first-cluster.md"))
	Expect(err).NotTo(HaveOccurred())
	rows := map[string]string{}
	for _, match := range regexp.MustCompile("(?m)^\\| `([A-Z0-9_]+)` \\| (?:none|`([^`]*)`) \\|").FindAllStringSubmatch(string(page), -1) {
		rows[match[1]] = match[2]
	}
	Expect(rows).NotTo(BeEmpty())
	return rows
}
