// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	open = `---
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              template:
                properties:
                  spec:
                    properties:
                      osVersionManagement:
                        description: what it is for
                        x-kubernetes-preserve-unknown-fields: true
                      selector: {maxLength: 512}
`
	typed = `
spec:
  versions:
  - schema:
      openAPIV3Schema:
        properties:
          osVersionManagement:
            description: that of the Go type
            type: object
            properties: {osVersion: {type: object}}
`
)

// write the schema into a definition, and return what that is then.
func write(definition, source string) (string, error) {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "definition.yaml")
	Expect(os.WriteFile(path, []byte(definition), 0o600)).To(Succeed())
	err := run([]string{path}, strings.NewReader(source))
	content, readErr := os.ReadFile(path)
	Expect(readErr).NotTo(HaveOccurred())
	return string(content), err
}

var _ = Describe("The schema of an open field", func() {
	It("is written into the definition, which keeps all else", func() {
		written, err := write(open, typed)
		Expect(err).NotTo(HaveOccurred())
		Expect(written).To(Equal(`---
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              template:
                properties:
                  spec:
                    properties:
                      osVersionManagement:
                        description: what it is for
                        properties:
                          osVersion:
                            type: object
                        type: object
                      selector:
                        maxLength: 512
`))
		again, err := write(written, typed)
		Expect(err).NotTo(HaveOccurred())
		Expect(again).To(Equal(written))
	})

	DescribeTable("is not written", func(definition, source, message string) {
		written, err := write(definition, source)
		Expect(err).To(MatchError(ContainSubstring(message)))
		Expect(written).To(Equal(definition))
	},
		Entry("where controller-gen has written nothing", open, "", "the source, which controller-gen has to write: it has 0 versions"),
		Entry("where it has written something else", open, open, "the source, which controller-gen has to write: it has no field osVersionManagement"),
		Entry("into something else", typed, typed, "it has no field spec.template.spec.osVersionManagement"),
		Entry("into what is no definition", "[", typed, "decoding it"),
	)

	It("is asked for with one definition", func() {
		Expect(run(nil, strings.NewReader(typed))).To(MatchError(HavePrefix("usage: ")))
	})
})
