// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/scheme"
)

var yamlBlock = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")

// manifests are the objects that a page shows, without its indentation.
func manifests(content string) []string {
	found := []string{}
	for _, block := range yamlBlock.FindAllStringSubmatch(content, -1) {
		dedented := regexp.MustCompile("(?m)^"+block[1]).ReplaceAllString(block[2], "")
		found = append(found, strings.Split(dedented, "\n---\n")...)
	}
	return found
}

var _ = It("Objects that a page shows have only fields that their kinds have", func() {
	known := scheme.New()
	strict := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
	seen := map[string]int{}
	pages, err := filepath.Glob("*.md")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range append(pages, "../README.md") {
		for _, manifest := range manifests(page(path)) {
			kind := runtime.TypeMeta{}
			if yaml.Unmarshal([]byte(manifest), &kind) != nil || !known.Recognizes(kind.GroupVersionKind()) {
				continue // a part of one, or of a kind that the provider does not know
			}
			_, _, err := strict.Decode([]byte(manifest), nil, nil)
			Expect(err).NotTo(HaveOccurred(), path+":\n"+manifest)
			seen[path]++
		}
	}
	Expect(seen).To(And(HaveKey("upgrade.md"), HaveKey("install.md")))
})

// The releases at the repository's former address, and there the same versions, are the predecessor's.
var _ = It("No page names a release that is the predecessor's", func() {
	pages, err := filepath.Glob("*.md")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range append(pages, "../README.md") {
		Expect(page(path)).NotTo(MatchRegexp(`https://github\.com/[^ )]*/releases/`), path)
	}
})
