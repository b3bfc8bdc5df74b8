// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/json"
)

var _ = Describe("An expression", func() {
	const ceph = `{"kind":"CephCluster","metadata":{"name":"c"},"status":{"ceph":{"health":"HEALTH_OK"},"osds":3,"version":"v1.2.3"}}`
	const many = `self.items.all(a, self.items.all(b, self.items.all(c, a.x == b.x || b.x == c.x || true)))`

	// decoded as an API server's answer is.
	decoded := func(text string) any {
		GinkgoHelper()
		var value any
		Expect(json.Unmarshal([]byte(text), &value)).To(Succeed())
		return value
	}
	list := func(count int) string {
		return `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"x":1},`, count), ",") + `]}`
	}

	DescribeTable("is evaluated", func(ctx SpecContext, text, self, expected string) {
		expression, err := Compile(text)
		Expect(err).NotTo(HaveOccurred())
		expression.limit = time.Minute
		Expect(expression.Denies(ctx, decoded(self))).To(Equal(expected))
	},
		Entry("true", `self.status.ceph.health == 'HEALTH_OK'`, ceph, ""),
		Entry("true of a number", `self.status.osds >= 3`, ceph, ""),
		Entry("true by a function of Kubernetes", `semver(self.status.version, true).isLessThan(semver('2.0.0'))`, ceph, ""),
		Entry("true of all of a list", `self.items.all(i, i.x == 1)`, list(3), ""),
		Entry("true of an empty list", `self.items.all(i, i.x == 1)`, `{"items":[]}`, ""),
		Entry("false", `self.status.ceph.health == 'HEALTH_WARN'`, ceph, "the expression is false"),
		Entry("without a key", `self.status.health == 'HEALTH_OK'`, ceph,
			"the expression cannot be evaluated: no such key: self.status.health, at line 1, column 12"),
		Entry("with has of what is not there", `has(self.status.health) && self.status.health == 'HEALTH_OK'`, ceph, "the expression is false"),
		Entry("with another type than the function takes", `self.status.osds.startsWith('3')`, ceph,
			"the expression cannot be evaluated: no such overload, at line 1, column 28"),
		Entry("as what is no bool", `self.status.ceph.health`, ceph, "the expression is neither true nor false, but string"),
		Entry("beyond its costs", many, list(200), "the expression cannot be evaluated: it costs more than the limit: select fewer objects, or compare less"),
	)

	It("is not evaluated for longer than it may take", func(ctx SpecContext) {
		expression, err := Compile(many)
		Expect(err).NotTo(HaveOccurred())
		expression.limit = time.Nanosecond
		Expect(expression.Denies(ctx, decoded(list(60)))).To(Equal("the expression was not evaluated within 1ns"))
	})

	DescribeTable("is refused", func(text, expected string) {
		_, err := Compile(text)
		Expect(err).To(MatchError(ContainSubstring(expected)))
	},
		Entry("with an error in its syntax", `self.status ==`, "Syntax error"),
		Entry("with a variable that is not there", `object.status == 'x'`, "undeclared reference to 'object'"),
		Entry("with a result that is a string", `'HEALTH_OK'`, "its result is string: write an expression that is true or false"),
	)
})
