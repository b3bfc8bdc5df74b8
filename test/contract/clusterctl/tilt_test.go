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
	"sigs.k8s.io/yaml"
)

// tiltProvider is what Cluster API's Tiltfile reads of a provider's file.
type tiltProvider struct {
	Name   string `json:"name"`
	Config struct {
		Image               string   `json:"image"`
		Label               string   `json:"label"`
		GoMain              string   `json:"go_main"`
		LiveReloadDeps      []string `json:"live_reload_deps"`
		AdditionalResources []string `json:"additional_resources"`
		ResourceDeps        []string `json:"resource_deps"`
	} `json:"config"`
}

func read(name string, into any) {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(root, name))
	Expect(err).NotTo(HaveOccurred())
	Expect(yaml.UnmarshalStrict(content, into)).To(Succeed())
}

var _ = Describe("tilt-provider.yaml", func() {
	It("names files that exist, the image of config/default, and the parts of the runtime extension", func() {
		providers := []tiltProvider{}
		read("tilt-provider.yaml", &providers)
		Expect(providers).To(HaveLen(1))
		config := providers[0].Config
		for _, file := range slices.Concat(config.LiveReloadDeps, config.AdditionalResources, []string{config.GoMain}) {
			Expect(filepath.Join(root, file)).To(BeAnExistingFile())
		}
		defaults := struct {
			Images []struct{ NewName string } `json:"images"`
		}{}
		content, err := os.ReadFile(filepath.Join(root, "config", "default", "kustomization.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(yaml.Unmarshal(content, &defaults)).To(Succeed())
		Expect(defaults.Images).To(ConsistOf(HaveField("NewName", config.Image)))
		extension := struct {
			Resources []string `json:"resources"`
		}{}
		content, err = os.ReadFile(filepath.Join(root, "config", "extension", "kustomization.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(yaml.Unmarshal(content, &extension)).To(Succeed())
		for _, resource := range extension.Resources {
			if resource != "namespace.yaml" { // that of the provider
				Expect(config.AdditionalResources).To(ContainElement("config/extension/" + resource))
			}
		}
		Expect(config.ResourceDeps).To(ConsistOf("capi_controller"), "Cluster API looks at an ExtensionConfig before it accepts it")
	})
})

var _ = Describe("tilt-settings.yaml", func() {
	It("enables what tilt-provider.yaml is called, and sets every variable that has no default", func() {
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

		// Those that Cluster API's Tiltfile sets itself.
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
