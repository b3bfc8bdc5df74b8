// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var _ = Describe("The bill of materials", func() {
	var doc map[string]any
	var encoded []byte
	BeforeEach(func() {
		made, err := describe("v0.8.0", created)
		Expect(err).NotTo(HaveOccurred())
		encoded, err = json.Marshal(made)
		Expect(err).NotTo(HaveOccurred())
		doc = map[string]any{}
		Expect(json.Unmarshal(encoded, &doc)).To(Succeed())
	})

	It("is an SPDX document that says the same each time", func() {
		Expect(doc).To(And(
			HaveKeyWithValue("spdxVersion", "SPDX-2.3"), HaveKeyWithValue("dataLicense", "CC0-1.0"), HaveKeyWithValue("SPDXID", "SPDXRef-DOCUMENT"),
			HaveKeyWithValue("name", "cluster-api-provider-elemental v0.8.0"),
			HaveKeyWithValue("documentNamespace", MatchRegexp(`^https://[^#]+/spdx/v0\.8\.0-[0-9a-f]{64}$`)),
			HaveKeyWithValue("creationInfo", And(
				HaveKeyWithValue("created", "2026-01-02T03:04:05Z"),
				HaveKeyWithValue("creators", HaveEach(MatchRegexp("^(Tool|Organization): .+")))))))
		again, err := describe("v0.8.0", created)
		Expect(err).NotTo(HaveOccurred())
		Expect(json.Marshal(again)).To(Equal(encoded))
		other, err := describe("v0.8.1", created)
		Expect(err).NotTo(HaveOccurred())
		Expect(other.Namespace).NotTo(Equal(again.Namespace))
	})

	It("has all that a package needs, and relates only what is there", func() {
		ids := map[string]bool{"SPDXRef-DOCUMENT": true}
		for _, each := range doc["packages"].([]any) {
			p := each.(map[string]any)
			for _, field := range []string{"name", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"} {
				Expect(p).To(HaveKeyWithValue(field, Not(BeEmpty())), "%s of %v", field, p["name"])
			}
			Expect(p).To(HaveKeyWithValue("filesAnalyzed", false))
			Expect(p).To(HaveKeyWithValue("externalRefs", ConsistOf(And(
				HaveKeyWithValue("referenceType", "purl"), HaveKeyWithValue("referenceLocator", MatchRegexp(`^pkg:golang/[^ +]+@[^ +]+$`))))))
			Expect(p["SPDXID"]).To(MatchRegexp(`^SPDXRef-[A-Za-z0-9.-]+$`))
			Expect(ids).NotTo(HaveKey(p["SPDXID"]), "two packages with one identifier")
			ids[p["SPDXID"].(string)] = true
		}
		related := map[string]bool{"SPDXRef-DOCUMENT": true}
		for _, each := range doc["relationships"].([]any) {
			r := each.(map[string]any)
			Expect(ids).To(And(HaveKey(r["spdxElementId"]), HaveKey(r["relatedSpdxElement"])))
			related[r["relatedSpdxElement"].(string)] = true
		}
		Expect(related).To(Equal(ids), "every package is described, or needed by one that is")
	})

	It("lists what each program is linked from, in the versions of go.mod", func() {
		needs := map[string][]string{}
		for _, each := range doc["relationships"].([]any) {
			r := each.(map[string]any)
			from := r["spdxElementId"].(string)
			needs[from] = append(needs[from], r["relatedSpdxElement"].(string))
		}
		required := regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`)
		goMod, err := os.ReadFile("go.mod")
		Expect(err).NotTo(HaveOccurred())
		versions := map[string]string{}
		for _, match := range required.FindAllStringSubmatch(string(goMod), -1) {
			versions[match[1]] = match[2]
		}
		need := func(path string) OmegaMatcher { return ContainElement(idOf(path + "-" + versions[path])) }
		Expect(needs["SPDXRef-DOCUMENT"]).To(Equal([]string{idOf("cmd/manager"), idOf("cmd/elemental-agent")}))
		Expect(needs[idOf("cmd/manager")]).To(And(need("sigs.k8s.io/cluster-api"), need("k8s.io/client-go"), ContainElement(HavePrefix("SPDXRef-stdlib-1."))))
		Expect(needs[idOf("cmd/elemental-agent")]).To(And(
			need("github.com/google/go-containerregistry"), ContainElement(HavePrefix("SPDXRef-stdlib-1.")),
			Not(ContainElement(HavePrefix(idOf("k8s.io/client-go")))), Not(ContainElement(HavePrefix(idOf("sigs.k8s.io")))),
		), "what is linked, and not all of go.mod")
		Expect(string(encoded)).NotTo(ContainSubstring("onsi/ginkgo"), "tests are not released")
	})
})

var _ = DescribeTable("Modules are read from what go list prints", func(printed string, expected []module, fails string) {
	modules, err := decode([]byte(printed))
	if fails != "" {
		Expect(err).To(MatchError(ContainSubstring(fails)))
		return
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(modules).To(Equal(expected))
},
	Entry("of Go itself and of ours there are none", `{} {"Module":{"Path":"ours","Main":true}}`, []module{}, ""),
	Entry("of others", `{"Module":{"Path":"a.example/b","Version":"v1.2.3","Sum":"h1:x="}}`, []module{{Path: "a.example/b", Version: "v1.2.3", Sum: "h1:x="}}, ""),
	Entry("that are replaced", `{"Module":{"Path":"a.example/b","Version":"v1.2.3","Replace":{"Path":"a.example/fork","Version":"v1.2.4"}}}`,
		[]module{{Path: "a.example/fork", Version: "v1.2.4"}}, ""),
	Entry("that are replaced by a folder", `{"Module":{"Path":"a.example/b","Version":"v1.2.3","Replace":{"Path":"../b"}}}`, nil, "replaced by a folder"),
	Entry("that cannot be read", `{"Module":`, nil, "reading what go list prints"),
)

var _ = DescribeTable("An identifier holds letters, numbers, dots and dashes alone", func(name, id string) {
	Expect(idOf(name)).To(Equal(id))
},
	Entry("of a path", "a.example/b-v1.2.3", "SPDXRef-a.example--b-v1.2.3"),
	Entry("with an underscore", "a_b", "SPDXRef-a-x5f-b"),
	Entry("with a plus", "a-v1.0.0+incompatible", "SPDXRef-a-v1.0.0-x2b-incompatible"),
)
