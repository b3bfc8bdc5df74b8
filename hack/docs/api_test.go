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

// widgets has one of everything that the pages tell.
const widgets = `
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, shortNames: [wg]}
  versions:
  - name: v1
    additionalPrinterColumns:
    - {name: Size, jsonPath: .spec.size, description: How big, priority: 1}
    schema:
      openAPIV3Schema:
        description: "Widget is\na thing."
        properties:
          apiVersion: {type: string}
          spec:
            required: [size]
            properties:
              size: {type: integer, description: size of it., minimum: 1, default: 3, enum: [1, 3]}
              parts:
                type: array
                maxItems: 4
                items: {type: object, properties: {name: {type: string, description: a|b <c>}}}
              labels: {type: object, additionalProperties: {type: string}}
              selector: {type: object, properties: {matchExpressions: {type: array}, matchLabels: {type: object}}}
              rest: {x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{message: set once}]}
          status:
            properties:
              since: {type: string, format: date-time}
              conditions:
                type: array
                items: {type: object, properties: {lastTransitionTime: {}, observedGeneration: {}, reason: {}}}
`

// pageOf definitions, written as files of a folder.
func pageOf(definitions string) string {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	Expect(os.WriteFile(filepath.Join(folder, "widgets.yaml"), []byte(definitions), 0o600)).To(Succeed())
	kinds, err := readKinds(folder)
	Expect(err).NotTo(HaveOccurred())
	return string(apiPage(kinds))
}

var _ = Describe("The page of the kinds", func() {
	It("tells what a definition says", func() {
		_, section, _ := strings.Cut(pageOf(widgets), "## ")
		Expect(section).To(Equal(`Widget

Widget is a thing.

` + "`example.com/v1`, `widgets`, `wg`" + `

| Field | Type | Meaning |
|---|---|---|
| ` + "`spec.labels`" + ` | map[string]string |  |
| ` + "`spec.parts`" + ` | []object | Length at most 4. |
| ` + "`spec.parts[].name`" + ` | string | a\|b &lt;c> |
| ` + "`spec.rest`" + ` | object | Rule: set once. Other keys are kept. |
| ` + "`spec.selector`" + ` | LabelSelector |  |
| ` + "`spec.size`" + ` | integer | size of it. Required. Default: ` + "`3`. One of `1`, `3`" + `. At least 1. |
| ` + "`status.conditions`" + ` | []Condition |  |
| ` + "`status.since`" + ` | time |  |

| Column | Shows | Meaning |
|---|---|---|
| Size | ` + "`.spec.size`" + ` | How big (with ` + "`--output wide`" + `) |
`))
	})

	It("is refused where there are no definitions", func() {
		_, err := readKinds(GinkgoT().TempDir())
		Expect(err).To(MatchError(ContainSubstring("run this in the root of the repository")))
	})
})

var _ = Describe("The page of the flags", func() {
	It("has no line that ends with blanks", func() {
		Expect(trimLines("\nUsage: \n  a\t\n")).To(Equal("Usage:\n  a"))
	})
})
