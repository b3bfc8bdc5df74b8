// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("The checks of a host", func() {
	var (
		endpoint *apitest.RegistrationEndpoint
		host     *machine
	)
	BeforeEach(func(ctx SpecContext) {
		endpoint = openRegistration(ctx, approveAll)
		host = registered(ctx, endpoint, "m-1")
	})

	// stored by an API server, whose schema has the bounds once more, of what is reported.
	stored := func(ctx SpecContext, what any) []infrav1.HostCheck {
		GinkgoHelper()
		sent := host.report(ctx, what)
		Expect(sent.status).To(Equal(http.StatusNoContent), "body %s", sent.body)
		return host.object(ctx).Status.Upgrade.Checks
	}
	with := func(checks ...wire.Check) wire.Report {
		return wire.Report{Upgrade: &wire.Attempt{Attempt: "a-1", Phase: wire.PhaseAssessing, Checks: checks}}
	}
	check := func(name string) wire.Check { return wire.Check{Name: name, Verdict: wire.CheckPassed} }

	DescribeTable("are brought within their bounds, and keep no report from being stored",
		func(ctx SpecContext, said wire.Check, want infrav1.HostCheck) {
			Expect(stored(ctx, with(said))).To(Equal([]infrav1.HostCheck{want}))
		},
		Entry("a name", wire.Check{Name: strings.Repeat("é", 200)}, infrav1.HostCheck{Name: strings.Repeat("é", 144)}),
		Entry("a verdict that is not known", wire.Check{Name: "a", Verdict: "Doubted" + strings.Repeat("!", 30)},
			infrav1.HostCheck{Name: "a", Verdict: infrav1.HostCheckVerdict("Doubted" + strings.Repeat("!", 25))}),
		Entry("an output", wire.Check{Name: "a", Output: "x" + strings.Repeat("é", 200)}, infrav1.HostCheck{Name: "a", Output: "x" + strings.Repeat("é", 127)}),
		Entry("what would mislead who reads it", wire.Check{Name: "a\u202eb", Verdict: "c\x1bd", Output: "one\ntwo\x1b[2J"},
			infrav1.HostCheck{Name: "a b", Verdict: "c d", Output: "one two [2J"}),
		Entry("a time that cannot be written", wire.Check{Name: "a", Since: time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("west", -7200))},
			infrav1.HostCheck{Name: "a"}),
		Entry("a time that is finer than what is stored", wire.Check{Name: "a", Since: looked.Add(time.Millisecond)},
			infrav1.HostCheck{Name: "a", Since: metav1.NewTime(looked.Local())}),
	)

	It("are as many as may be, each with a name of its own", func(ctx SpecContext) {
		said := []wire.Check{check("a"), check(""), check("\n"), {Name: "a", Verdict: wire.CheckFailed}}
		for i := range 40 {
			said = append(said, check(fmt.Sprintf("c-%02d", i)))
		}
		found := stored(ctx, with(said...))
		Expect(found).To(HaveLen(32))
		Expect([]infrav1.HostCheck{found[0], found[1], found[31]}).To(Equal([]infrav1.HostCheck{
			{Name: "a", Verdict: infrav1.HostCheckPassed}, {Name: "c-00", Verdict: infrav1.HostCheckPassed}, {Name: "c-30", Verdict: infrav1.HostCheckPassed},
		}))
	})

	It("are written once for what is the same in whole seconds", func(ctx SpecContext) {
		said := check("a")
		said.Since = looked
		stored(ctx, with(said))
		before := host.object(ctx).ResourceVersion
		said.Since = looked.Add(999 * time.Millisecond)
		stored(ctx, with(said))
		Expect(host.object(ctx).ResourceVersion).To(Equal(before))
		said.Since = looked.Add(time.Second)
		stored(ctx, with(said))
		Expect(host.object(ctx).ResourceVersion).NotTo(Equal(before))
	})

	It("are none of an agent that is older than they are", func(ctx SpecContext) {
		Expect(stored(ctx, with(check("a")))).To(HaveLen(1))
		Expect(stored(ctx, `{"os":{},"upgrade":{"attempt":"a-1","phase":"Succeeded","message":"warning: wanted check x failed: y"}}`)).To(BeEmpty())
		Expect(host.object(ctx).Status.Upgrade).To(Equal(&infrav1.HostUpgradeStatus{
			Attempt: "a-1", Phase: infrav1.HostUpgradeSucceeded, Message: "warning: wanted check x failed: y",
		}))
	})

	It("are taken from an agent that is newer than the API, without what the API does not know", func(ctx SpecContext) {
		Expect(stored(ctx, `{"new":1,"os":{"bootID":"b-1","new":{}},"addresses":[{"type":"Hostname","address":"m-1","new":[]}],
			"upgrade":{"attempt":"a-1","phase":"Assessing","new":"x","checks":[{"name":"a","verdict":"Passed","new":true}]}}`)).
			To(Equal([]infrav1.HostCheck{{Name: "a", Verdict: infrav1.HostCheckPassed}}))
		Expect(host.object(ctx).Status).To(And(HaveField("OS.BootID", "b-1"), HaveField("Addresses", HaveLen(1))))
	})
})
