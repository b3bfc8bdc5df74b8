// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/audit"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// microTime is how kube-apiserver writes its timestamps.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

// at is a time, in seconds after noon, as parsed from a log.
func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second).Local() }

// line is one line of an audit log, as kube-apiserver writes it.
func line(second int, verb, resource, name string, code int, response string) string {
	resource, subresource, _ := strings.Cut(resource, "/")
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":%q,`+
		`"user":{"username":"drainer"},"objectRef":{"resource":%q,"subresource":%q,"namespace":"default","name":%q},`+
		`"responseStatus":{"code":%d},"responseObject":%s,"stageTimestamp":%q}`,
		verb, resource, subresource, name, code, response, at(second).UTC().Format(microTime))
}

// node is a write of a Node, at a second that is also its resourceVersion.
func node(second int, name string, unschedulable bool, ready string) string {
	return written(second, second, name, unschedulable, ready)
}

func written(second, version int, name string, unschedulable bool, ready string) string {
	return line(second, "patch", "nodes", name, 200, fmt.Sprintf(
		`{"kind":"Node","metadata":{"name":%q,"resourceVersion":"%d"},"spec":{"unschedulable":%t},`+
			`"status":{"conditions":[{"type":"Ready","status":%q}]}}`, name, version, unschedulable, ready))
}

func budget(second int, healthy, desired int) string {
	return line(second, "update", "poddisruptionbudgets/status", "web", 200, fmt.Sprintf(
		`{"kind":"PodDisruptionBudget","metadata":{"name":"web","namespace":"default"},"status":{"currentHealthy":%d,"desiredHealthy":%d}}`,
		healthy, desired))
}

// write writes an audit log.
func write(lines ...string) string {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "audit.log")
	Expect(os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600)).To(Succeed())
	return file
}

// log writes an audit log and reads it.
func log(lines ...string) []auditv1.Event {
	GinkgoHelper()
	events, err := audit.Read(write(lines...))
	Expect(err).NotTo(HaveOccurred())
	return events
}

var _ = Describe("Read", func() {
	It("leaves out a line that is still being written", func() {
		whole := node(1, "a", true, "True")
		Expect(log(whole, whole[:len(whole)/2])).To(HaveLen(1))
	})

	It("fails at any other line that it cannot parse, because every count would be incomplete", func() {
		whole := node(1, "a", true, "True")
		_, err := audit.Read(write(whole, whole[:len(whole)/2], whole))
		Expect(err).To(MatchError(ContainSubstring("line 2")))
	})

	It("fails when there is no log", func() {
		_, err := audit.Read("/nonexistent/audit.log")
		Expect(err).To(MatchError(ContainSubstring("opening the audit log")))
	})
})

var _ = Describe("Cordons", func() {
	It("are intervals by Node, the last one without an end while the Node is cordoned", func() {
		cordons := audit.Cordons(log(
			node(1, "a", false, "True"), node(2, "a", true, "True"), node(3, "a", true, "False"), node(5, "a", false, "True"),
			node(8, "a", true, "True"), node(9, "b", false, "True")))
		Expect(cordons).To(Equal(map[string][]audit.Interval{"a": {{From: at(2), To: at(5)}, {From: at(8)}}}))
		Expect(cordons["a"][0].Duration(at(20))).To(Equal(3 * time.Second))
		Expect(cordons["a"][1].Duration(at(20))).To(Equal(12 * time.Second))
	})

	It("do not count a refused write", func() {
		refused := strings.Replace(node(1, "a", true, "True"), `"code":200`, `"code":409`, 1)
		Expect(audit.Cordons(log(refused))).To(BeEmpty())
	})

	It("are not ended by a write that was stored earlier and logged later", func() {
		cordons := audit.Cordons(log(written(2, 11, "a", true, "True"), written(3, 10, "a", false, "True"), written(4, 12, "a", true, "True")))
		Expect(cordons).To(Equal(map[string][]audit.Interval{"a": {{From: at(2)}}}))
	})

	DescribeTable("overlap",
		func(want int, lines ...string) {
			Expect(audit.MaxOverlap(audit.Cordons(log(lines...)))).To(Equal(want))
		},
		Entry("never", 0, node(1, "a", false, "True")),
		Entry("one after the other", 1,
			node(1, "a", true, "True"), node(3, "a", false, "True"), node(3, "b", true, "True"), node(4, "b", false, "True")),
		Entry("two at a time", 2,
			node(1, "a", true, "True"), node(2, "b", true, "True"), node(3, "a", false, "True"), node(4, "b", false, "True")),
		Entry("one that never ended", 2, node(1, "a", true, "True"), node(9, "b", true, "True")),
	)
})

var _ = Describe("Downtimes", func() {
	It("begin when a Node that was Ready is not, whatever the reason", func() {
		Expect(audit.Downtimes(log(
			node(1, "a", false, "False"), node(2, "a", false, "True"), node(4, "a", false, "Unknown"), node(7, "a", false, "True"),
		))).To(Equal(map[string][]audit.Interval{"a": {{From: at(4), To: at(7)}}}))
	})
})

var _ = Describe("Deletions", func() {
	It("are those that were requested, or refused by admission, but for dry runs", func() {
		dryRun := strings.Replace(line(3, "delete", "machines", "tried", 200, "{}"), `"responseStatus"`, `"requestObject":{"dryRun":["All"]},"responseStatus"`, 1)
		events := log(
			line(1, "delete", "machines", "gone", 200, "{}"), line(2, "delete", "machines", "kept", 422, "{}"), dryRun,
			strings.Replace(dryRun, `"code":200`, `"code":403`, 1), line(4, "delete", "machines", "unknown", 404, "{}"),
			line(5, "delete", "machines", "forbidden", 403, "{}"), line(6, "delete", "nodes", "n", 200, "{}"))
		Expect(audit.Deleted(events, "machines")).To(Equal([]string{"default/gone"}))
		Expect(audit.RefusedDeletions(events, "machines")).To(Equal([]string{"default/kept", "default/forbidden"}))
	})
})

var _ = Describe("Evictions", func() {
	It("are those that were granted, or were refused for a budget", func() {
		events := log(
			line(1, "create", "pods/eviction", "web-1", 429, `{}`), line(2, "create", "pods/eviction", "web-1", 201, `{}`),
			line(3, "delete", "pods", "web-2", 200, `{}`), line(4, "create", "pods/eviction", "gone", 404, `{}`),
		)
		Expect(audit.Evictions(events)).To(Equal([]audit.Eviction{{Pod: "default/web-1", User: "drainer", At: at(2)}}))
		Expect(audit.RefusedEvictions(events)).To(Equal([]audit.Eviction{{Pod: "default/web-1", User: "drainer", At: at(1)}}))
	})
})

var _ = Describe("Budgets", func() {
	It("report their minimum only after there were enough Pods", func() {
		Expect(audit.Budgets(log(budget(1, 0, 2), budget(2, 3, 2), budget(3, 1, 2), budget(4, 3, 2)))).
			To(Equal(map[string]audit.Budget{"default/web": {Desired: 2, Minimum: 1}}))
	})

	It("leave out one that never had enough Pods", func() {
		Expect(audit.Budgets(log(budget(1, 0, 2), budget(2, 1, 2)))).To(BeEmpty())
	})
})

var _ = Describe("Writes", func() {
	It("are counted by resource, for one user and a window", func() {
		events := log(
			line(1, "patch", "nodes", "a", 200, `{}`), line(2, "patch", "nodes/status", "a", 200, `{}`), line(3, "patch", "nodes", "a", 409, `{}`),
			line(4, "list", "nodes", "", 200, `{}`), line(9, "patch", "nodes", "a", 200, `{}`))
		Expect(audit.Writes(events, "drainer", at(1), at(5))).To(Equal(map[string]int{"nodes": 2, "nodes/status": 1}))
		Expect(audit.Writes(events, "somebody-else", at(1), at(5))).To(BeEmpty())
		Expect(audit.Reads(events, "drainer", at(1), at(5))).To(Equal(map[string]int{"nodes": 1}))
	})

	It("are limited to one of a user's processes", func() {
		one := strings.Replace(line(1, "patch", "nodes", "a", 200, `{}`), `"username":"drainer"`, `"username":"drainer","groups":["drainer-2"]`, 1)
		events := log(one, line(2, "patch", "nodes", "a", 200, `{}`))
		Expect(audit.Writes(audit.By(events, "drainer-2"), "drainer", at(1), at(5))).To(Equal(map[string]int{"nodes": 1}))
	})

	It("list what was deleted", func() {
		Expect(audit.Deleted(log(
			line(1, "delete", "machines", "m-1", 200, `{}`), line(2, "delete", "machines", "m-2", 404, `{}`),
			line(3, "delete", "nodes", "m-3", 200, `{}`),
		), "machines")).To(Equal([]string{"default/m-1"}))
	})
})

var _ = Describe("Forbidden", func() {
	It("lists each permission that a user lacked, once", func() {
		events := log(
			line(1, "patch", "machines/status", "m", 403, `{}`), line(2, "patch", "machines/status", "n", 403, `{}`),
			line(3, "delete", "nodes", "n", 403, `{}`), line(4, "delete", "nodes", "n", 409, `{}`))
		Expect(audit.Forbidden(events, "drainer")).To(Equal([]string{"delete /nodes", "patch /machines/status"}))
		Expect(audit.Forbidden(events, "somebody-else")).To(BeEmpty())
	})

	It("leaves out a list that was refused only while an API server started", func() {
		Expect(audit.Forbidden(log(
			line(1, "list", "machines", "", 403, `{}`), line(5, "list", "machines", "", 403, `{}`),
			line(1, "list", "nodes", "", 403, `{}`), line(40, "list", "nodes", "", 403, `{}`), line(1, "patch", "nodes", "n", 403, `{}`),
		), "drainer")).To(Equal([]string{"list /nodes", "patch /nodes"}))
	})

	It("leaves out a permission that was granted at another time", func() {
		Expect(audit.Forbidden(log(
			line(1, "patch", "machines/status", "m", 403, `{}`), line(2, "patch", "machines/status", "m", 200, `{}`),
		), "drainer")).To(BeEmpty())
	})
})

var _ = Describe("Triggered", func() {
	It("is the interval of a host from the trigger to its outcome", func() {
		host := func(second int, name, label string) string {
			return line(second, "patch", "elementalhosts", name, 200, fmt.Sprintf(
				`{"kind":"ElementalHost","metadata":{"name":%q,"resourceVersion":"%d","labels":{%q:%q}}}`, name, second,
				"elementalhost.infrastructure.cluster.x-k8s.io/in-place-upgrade", label))
		}
		triggered := audit.Triggered(log(host(1, "a", "done"), host(2, "a", "pending"), host(3, "b", "pending"),
			host(4, "a", "pending"), host(5, "a", "rolled-back"), host(6, "c", "pending"), host(7, "c", "done")))
		Expect(triggered).To(Equal(map[string][]audit.Interval{
			"a": {{From: at(2), To: at(5)}}, "b": {{From: at(3)}}, "c": {{From: at(6), To: at(7)}},
		}))
		Expect(audit.MaxOverlap(triggered)).To(Equal(2))
	})
})

var _ = Describe("TriggeredFor", func() {
	It("lists each host that was triggered for an attempt with the image, once, and none that has only fetched it", func() {
		host := func(second int, name, image, label string) string {
			return line(second, "patch", "elementalhosts", name, 200, fmt.Sprintf(
				`{"kind":"ElementalHost","metadata":{"name":%q,"labels":{%q:%q}},"spec":{"upgrade":{"attempt":"x","osVersionManagement":{"osVersion":{"imageURI":%q}}}}}`,
				name, "elementalhost.infrastructure.cluster.x-k8s.io/in-place-upgrade", label, image))
		}
		Expect(audit.TriggeredFor(log(
			host(1, "b", "oci://r/os:bad", "pending"), host(2, "a", "oci://r/os:good", "pending"), host(3, "b", "oci://r/os:bad", "rolled-back"),
			host(4, "a", "oci://r/os:bad", "pending"), host(5, "c", "oci://r/os:bad", ""),
		), "oci://r/os:bad")).To(Equal([]string{"a", "b"}))
	})
})
