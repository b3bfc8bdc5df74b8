// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
)

var _ = Describe("Patched", func() {
	patch := func(second int, resource, name, body string) string {
		return strings.Replace(line(second, "patch", resource, name, 200, "{}"), `"responseStatus"`, `"requestObject":`+body+`,"responseStatus"`, 1)
	}

	It("lists annotations by name, and other fields by their path", func() {
		events := log(
			patch(2, "machines", "m", `{"metadata":{"annotations":{"a":"","b":null},"resourceVersion":"7","uid":"u"}}`),
			patch(3, "machines", "n", `{"metadata":{"annotations":{"a":"1"}},"spec":{"version":"v1"}}`),
			patch(3, "nodes", "n", `{"spec":{"unschedulable":true}}`), patch(30, "machines", "late", `{"spec":{"paused":true}}`),
			strings.Replace(patch(3, "machines", "refused", `{"spec":{"refused":true}}`), `"code":200`, `"code":409`, 1),
			strings.Replace(patch(3, "machines", "other", `{"spec":{"other":true}}`), "drainer", "another", 1))
		Expect(audit.Patched(events, "drainer", "machines", at(1), at(10))).To(Equal([]string{"annotation a", "annotation b", "spec.version"}))
	})

	It("lists the verb of other writes", func() {
		Expect(audit.Patched(log(line(1, "delete", "machines", "m", 200, "{}")), "drainer", "machines", at(0), at(2))).To(Equal([]string{"delete"}))
	})

	It("fails without the bodies", func() {
		_, err := audit.Patched(log(line(1, "patch", "machines", "m", 200, "{}")), "drainer", "machines", at(0), at(2))
		Expect(err).To(MatchError(ContainSubstring("no body")))
	})
})
