// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("What an expression can build", func() {
	const tooCostly = "the expression cannot be evaluated: it costs more than the limit: select fewer objects, or compare less"
	// denies says why an expression that compiles is not true of self.
	denies := func(ctx SpecContext, text string, self any) string {
		GinkgoHelper()
		expression, err := Compile(text)
		Expect(err).NotTo(HaveOccurred())
		return expression.Denies(ctx, self)
	}
	texts := map[string]any{"a": "x", "b": "y", "list": []any{"x", "y"}}

	DescribeTable("is refused", func(text, expected string) {
		_, err := Compile(text)
		Expect(err).To(MatchError(ContainSubstring(expected)))
	},
		Entry("a text from two", `'a' + 'b' == 'ab'`, "no matching overload for '_+_' applied to '(string, string)'"),
		Entry("bytes from two", `b'a' + b'b' == b'ab'`, "no matching overload for '_+_' applied to '(bytes, bytes)'"),
		Entry("a list from two", `self.list + ['z'] == self.list`, "line 1, column 11: lists cannot be added"),
		Entry("a list from a filter and another", `self.list.filter(t, true) + self.list == self.list`, "lists cannot be added"),
		Entry("a list of fields", `[self.a, self.b].all(t, t == 'x')`, "line 1, column 1: a list can only have literals"),
		Entry("a list of lists", `[['a']].all(t, t == ['a'])`, "a list can only have literals"),
		Entry("a list of optional elements", `[?self.?a].all(t, t == 'x')`, "a list can only have literals"),
		Entry("a map", `{'a': self.a}.a == 'x'`, "maps and messages cannot be made"),
		Entry("a message", `google.protobuf.Int32Value{value: 1} == 1`, "maps and messages cannot be made"),
		Entry("a list by a macro", `self.list.map(t, t).size() == 2`, "undeclared reference to"),
		Entry("a map by a macro", `self.transformMap(k, v, v).size() == 3`, "undeclared reference to"),
		Entry("another name for a value", `self.?a.optMap(t, t).orValue('') == 'x'`, "undeclared reference to"),
		Entry("a text from a list", `self.list.join() == 'xy'`, "undeclared reference to 'join'"),
		Entry("a text with another in it", `self.a.replace('x', 'yy') == 'yy'`, "undeclared reference to 'replace'"),
		Entry("a text by a format", `'%s'.format(self.list) == 'x'`, "undeclared reference to 'format'"),
		Entry("a list from a text", `self.a.split('').size() == 1`, "undeclared reference to 'split'"),
		Entry("what a regular expression finds", `self.a.matches('x')`, "undeclared reference to 'matches'"),
		Entry("a text from a number", `string(self.a) == 'x'`, "undeclared reference to 'string'"),
	)

	It("is no text or list where only the values tell that it would be", func(ctx SpecContext) {
		Expect(denies(ctx, `(self.a + self.b).startsWith('x')`, texts)).To(Equal(
			"the expression cannot be evaluated: no such overload, at line 1, column 9"))
		Expect(denies(ctx, `(self.list + self.list).size() == 4`, texts)).To(Equal(
			"the expression cannot be evaluated: no such overload, at line 1, column 12"))
		Expect(denies(ctx, `self.list.filter(t, t in ['x', 'z']).size() == 1`, texts)).To(BeEmpty())
	})

	It("has no other functions, whatever the libraries have in their next version", func() {
		of, err := environment()
		Expect(err).NotTo(HaveOccurred())
		names := []string{}
		for name := range of.Functions() {
			names = append(names, name)
		}
		Expect(names).To(ConsistOf(append([]string{"_+_", "optional.of", "optional.ofNonZeroValue", "optional.none", "value", "hasValue", "or", "orValue", "_?._", "_[?_]",
			"semver", "isSemver", "major", "minor", "patch", "isGreaterThan", "isLessThan", "compareTo",
			"quantity", "isQuantity", "isInteger", "asInteger", "asApproximateFloat", "sign", "add", "sub"}, standardFunctions...)))
		Expect(of.Macros()).To(HaveLen(5))
	})

	It("has no other length or depth than its bounds", func() {
		padded := func(length int) string { return "true" + strings.Repeat(" ", length-len("true")) }
		_, err := Compile(padded(maxExpression))
		Expect(err).NotTo(HaveOccurred())
		_, err = Compile(padded(maxExpression + 1))
		Expect(err).To(MatchError("it has 4097 characters: 4096 are the most"))
		nested := func(depth int) string { return strings.Repeat("(", depth) + "true" + strings.Repeat(")", depth) }
		_, err = Compile(nested(maxDepth - 1))
		Expect(err).NotTo(HaveOccurred())
		_, err = Compile(nested(maxDepth + 1))
		Expect(err).To(MatchError(ContainSubstring("expression recursion limit exceeded: 64")))
	})

	It("is about no more values than a limit", func(ctx SpecContext) {
		self := func(values int) any { return map[string]any{"items": make([]any, values-2)} }
		Expect(denies(ctx, `self.items.size() > 0`, self(maxValues))).To(BeEmpty())
		Expect(denies(ctx, `self.items.size() > 0`, self(maxValues+1))).To(Equal(
			"the expression was not evaluated: there are more than 500000 values, select fewer by object.name, object.selector or object.namespace"))
	})

	It("is about no longer texts than a limit", func(ctx SpecContext) {
		self := map[string]any{"most": strings.Repeat("x", maxString), "more": strings.Repeat("x", maxString+1), "state": "good"}
		Expect(denies(ctx, `self.most.startsWith('x')`, self)).To(BeEmpty())
		Expect(denies(ctx, `self.more.startsWith('x')`, self)).To(Equal(
			"the expression cannot be evaluated: a text has more than 65536 bytes"))
		Expect(denies(ctx, `has(self.more) && self.state == 'good'`, self)).To(BeEmpty(), "others are evaluated")
	})

	DescribeTable("is no quantity whose arithmetic is not bounded", func(ctx SpecContext, text string, isOne bool) {
		self := map[string]any{"q": text}
		if isOne {
			Expect(denies(ctx, `isQuantity(self.q)`, self)).To(BeEmpty())
			Expect(denies(ctx, `quantity(self.q).isGreaterThan(quantity('1'))`, self)).To(BeEmpty())
		} else {
			Expect(denies(ctx, `isQuantity(self.q)`, self)).To(Equal("the expression is false"))
			Expect(denies(ctx, `quantity(self.q).isGreaterThan(quantity('1'))`, self)).To(HavePrefix("the expression cannot be evaluated: a value does not have the form"))
		}
	},
		Entry("as one is", "20Gi", true),
		Entry("as one with a suffix that is like an exponent is", "1Ei", true),
		Entry("as one with the largest exponent is", "1e999", true),
		Entry("as one with a larger exponent is", "1e1000", false),
		Entry("as one with a smaller exponent is", "1E-100", false),
		Entry("as one with the most digits is", strings.Repeat("2", maxQuantity), true),
		Entry("as one with more digits is", strings.Repeat("2", maxQuantity+1), false),
	)

	DescribeTable("costs as much as there is to look at", func(ctx SpecContext, text string) {
		self := func(values int) any {
			return map[string]any{"items": []any{make([]any, values)}, "flat": make([]any, values)}
		}
		Expect(denies(ctx, text, self(1_000))).To(BeEmpty())
		Expect(denies(ctx, text, self(200_000))).To(Equal(tooCostly))
	},
		Entry("when lists are compared", `self.items == self.items && self.items == self.items && self.items == self.items`),
		Entry("when lists are found to be others", `!(self.items != self.items || self.items != self.items || self.items != self.items)`),
		Entry("when a list is searched for a value", `!(`+strings.TrimSuffix(strings.Repeat(`1 in self.flat || `, 6), ` || `)+`)`),
		Entry("when a list is searched for a list", strings.TrimSuffix(strings.Repeat(`self.flat in self.items && `, 6), ` && `)),
	)
})

var _ = Describe("Why an expression could not be evaluated", func() {
	const marker = "MARKER-7f3a"
	self := map[string]any{
		"status": map[string]any{"phase": marker, "list": []any{marker, int64(3)}, "zero": int64(0), marker + "-key": true, "version": marker + ".1.2", "most": int64(9223372036854775807)},
		"items":  []any{map[string]any{"name": marker, "at": "2026-11-26T12:00:00" + marker}},
	}

	DescribeTable("has nothing of the object in it", func(ctx SpecContext, text, expected string) {
		expression, err := Compile(text)
		Expect(err).NotTo(HaveOccurred())
		Expect(expression.Denies(ctx, self)).To(And(HavePrefix("the expression "), Not(ContainSubstring("MARKER")), ContainSubstring(expected)))
	},
		Entry(nil, `self[self.status.phase] == 1`, "no such key, at line 1, column 5"),
		Entry(nil, `self.status.list[self.status.phase] == 1`, "no such overload, at line 1, column 17"),
		Entry(nil, `self[self.items] == 1`, "a value does not have the form"),
		Entry(nil, `self.items[0].name[0] == 'M'`, "no such key"),
		Entry(nil, `self.status.list[7] == 1`, "the index is out of bounds"),
		Entry(nil, `self.status.phase.x == 1`, "no such key: self.status.phase.x, at line 1, column 18"),
		Entry(nil, `int(self.status.phase) == 1`, "a value does not have the form that its function takes, at line 1, column 4"),
		Entry(nil, `uint(self.status.phase) == 1u`, "a value does not have the form"),
		Entry(nil, `double(self.status.phase) == 1.0`, "a value does not have the form"),
		Entry(nil, `bool(self.status.phase)`, "a value does not have the form"),
		Entry(nil, `timestamp(self.items[0].at) > timestamp(0)`, "a value does not have the form"),
		Entry(nil, `timestamp(self.status.most) > timestamp(0)`, "a time is too far"),
		Entry(nil, `duration(self.status.phase) > duration('1s')`, "a value does not have the form"),
		Entry(nil, `quantity(self.status.phase).isInteger()`, "a value does not have the form"),
		Entry(nil, `quantity('1').isLessThan(self.status.phase)`, "no such overload"),
		Entry(nil, `semver(self.status.version).major() == 1`, "a value does not have the form"),
		Entry(nil, `semver(self.status.version, true).major() == 1`, "a value does not have the form"),
		Entry(nil, `self.status.phase.isLessThan(semver('1.0.0'))`, "no such overload"),
		Entry(nil, `self.status.phase + 1 == 2`, "no such overload"),
		Entry(nil, `1 / self.status.zero == 1`, "a division by zero"),
		Entry(nil, `1 % self.status.zero == 1`, "a division by zero"),
		Entry(nil, `self.status.most + 1 == 1`, "a number is too large"),
		Entry(nil, `self.status.phase.all(x, x)`, "no such overload"),
		Entry(nil, `self.status.list.all(x, x)`, "no such overload"),
		Entry(nil, `self.status.phase && true`, "no such overload"),
		Entry(nil, `self.?nothing.value() == 1`, "an optional has no value"),
		Entry(nil, `self.status.phase`, "is neither true nor false, but string"),
		Entry(nil, `self.status`, "is neither true nor false, but map"),
		Entry(nil, `self.status.phase == ''`, "is false"),
	)
})
