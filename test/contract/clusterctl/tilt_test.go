// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/capi"
)

// tiltProvider is the part of a provider's file that Cluster API's Tiltfile and its tilt-prepare read.
type tiltProvider struct {
	Name   string `json:"name"`
	Config struct {
		Version                string   `json:"version"`
		Image                  string   `json:"image"`
		Label                  string   `json:"label"`
		GoMain                 string   `json:"go_main"`
		LiveReloadDeps         []string `json:"live_reload_deps"`
		AdditionalResources    []string `json:"additional_resources"`
		UncategorizedResources []string `json:"additional_uncategorized_resources"`
		ResourceDeps           []string `json:"resource_deps"`
	} `json:"config"`
}

func read(name string, into any) {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(root, name))
	Expect(err).NotTo(HaveOccurred())
	Expect(yaml.UnmarshalStrict(content, into)).To(Succeed())
}

var _ = Describe("tilt-provider.yaml", func() {
	var provider tiltProvider

	BeforeEach(func() {
		provider = tiltProvider{}
		// Not a list: tilt-prepare detects a list by the file's first character, which is that of a comment here.
		read("tilt-provider.yaml", &provider)
	})

	It("names files that exist, the image of config/default, and a release series", func() {
		config := provider.Config
		for _, file := range slices.Concat(config.LiveReloadDeps, config.AdditionalResources, config.UncategorizedResources, []string{config.GoMain}) {
			Expect(filepath.Join(root, file)).To(BeAnExistingFile())
		}
		defaults := struct {
			Images []struct{ NewName string } `json:"images"`
		}{}
		content, err := os.ReadFile(filepath.Join(root, "config", "default", "kustomization.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(yaml.Unmarshal(content, &defaults)).To(Succeed())
		Expect(defaults.Images).To(ConsistOf(HaveField("NewName", config.Image)))
		Expect(config.Version).To(HavePrefix(tag[:strings.LastIndex(tag, ".")+1]), "what clusterctl's inventory says is there")
	})

	It("has the parts of the runtime extension, a Service without a group", func() {
		extension := struct {
			Resources []string `json:"resources"`
		}{}
		folder := filepath.Join("config", "extension")
		content, err := os.ReadFile(filepath.Join(root, folder, "kustomization.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(yaml.Unmarshal(content, &extension)).To(Succeed())
		grouped, others := []string{}, []string{}
		for _, resource := range extension.Resources {
			if resource == "namespace.yaml" { // belongs to the provider
				continue
			}
			content, err := os.ReadFile(filepath.Join(root, folder, resource))
			Expect(err).NotTo(HaveOccurred())
			parts, err := capi.Parse(content)
			Expect(err).NotTo(HaveOccurred())
			// Tilt groups a Service with the workload that it selects, and then fails to find the object that is named
			// here.
			if slices.ContainsFunc(parts, func(part *unstructured.Unstructured) bool { return part.GetKind() == "Service" }) {
				others = append(others, filepath.Join(folder, resource))
			} else {
				grouped = append(grouped, filepath.Join(folder, resource))
			}
		}
		Expect(provider.Config.AdditionalResources).To(ConsistOf(grouped))
		Expect(provider.Config.UncategorizedResources).To(ConsistOf(others))
		Expect(provider.Config.ResourceDeps).To(ConsistOf("capi_controller"), "Cluster API looks at an ExtensionConfig before it accepts it")
	})

	It("rebuilds the manager when any of its packages changes", func() {
		command := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", provider.Config.GoMain)
		command.Dir = root
		said, err := command.Output()
		Expect(err).NotTo(HaveOccurred())
		for _, folder := range strings.Fields(string(said)) {
			relative, err := filepath.Rel(root, folder)
			Expect(err).NotTo(HaveOccurred())
			Expect(provider.Config.LiveReloadDeps).To(ContainElement(WithTransform(func(dependency string) bool {
				return strings.HasPrefix(relative+"/", dependency+"/")
			}, BeTrue())), relative)
		}
	})
})

var _ = Describe("tilt-settings.yaml", func() {
	It("enables the provider by the name in tilt-provider.yaml, and sets every variable without a default", func() {
		settings := struct {
			DefaultRegistry string              `json:"default_registry"`
			ProviderRepos   []string            `json:"provider_repos"`
			EnableProviders []string            `json:"enable_providers"`
			TemplateDirs    map[string][]string `json:"template_dirs"`
			Substitutions   map[string]string   `json:"kustomize_substitutions"`
		}{}
		read("tilt-settings.yaml", &settings)
		Expect(settings.EnableProviders).To(ContainElement("elemental"))
		Expect(settings.TemplateDirs).To(HaveKey("elemental"))

		// Variables that Cluster API's Tiltfile sets itself.
		given := []string{"CLUSTER_NAME", "NAMESPACE", "KUBERNETES_VERSION", "CONTROL_PLANE_MACHINE_COUNT", "WORKER_MACHINE_COUNT"}
		for name := range settings.Substitutions {
			given = append(given, name)
		}
		for _, name := range append(assets("cluster-template*.yaml"), infrastructure) {
			for _, match := range regexp.MustCompile(`\$\{([A-Z0-9_]+)\}`).FindAllStringSubmatch(asset(name), -1) {
				Expect(given).To(ContainElement(match[1]), name)
			}
		}
	})
})

var _ = Describe("Documentation of the installation", func() {
	It("has every variable of the components, with its default", func() {
		page, err := os.ReadFile(filepath.Join(root, "docs", "install.md"))
		Expect(err).NotTo(HaveOccurred())
		for _, match := range regexp.MustCompile(`\$\{([A-Z0-9_]+)(?::=([^}]*))?\}`).FindAllStringSubmatch(asset(infrastructure), -1) {
			row := regexp.MustCompile("(?m)^\\| [^|]*`" + match[1] + "`[^|]*\\|[^|]*" + regexp.QuoteMeta(strings.Trim(match[2], `"`))).FindString(string(page))
			Expect(row).NotTo(BeEmpty(), "%s, default %q", match[1], match[2])
		}
	})
})
