// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
)

// Lines of the kernel's tables of routes.
const (
	routesHead  = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	defaultV4   = "eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
	halfV4      = "tun0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000080\t0\t0\t0\n"
	localV4     = "eth0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
	defaultV6   = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n"
	noDefaultV6 = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n"
	rejectV6    = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00000200     eth0\n"
)

var _ = Describe("The network of a boot", func() {
	ctx := context.Background()

	hostWith := func(routes, routes6 string) *system.Host {
		GinkgoHelper()
		runner := &systemtest.Runner{}
		runner.Say(askToolkit, "inactive\n")
		runner.Say(askFailed, "")
		runner.Say(askJobs, "")
		host := &system.Host{Root: GinkgoT().TempDir(), Runner: runner, Clock: systemtest.NewClock()}
		for file, content := range map[string]string{"/proc/net/route": routes, "/proc/net/ipv6_route": routes6} {
			Expect(os.MkdirAll(filepath.Dir(host.Path(file)), 0o755)).To(Succeed())
			Expect(os.WriteFile(host.Path(file), []byte(content), 0o600)).To(Succeed())
		}
		return host
	}

	DescribeTable("is there with a default route", func(routes, routes6 string, routed bool, state assess.State) {
		host := hostWith(routes, routes6)
		Expect(assess.Units(ctx, host)).To(HaveField("Routed", routed))
		Expect(assess.Boot(ctx, host, assess.Question{Before: assess.UnitStates{Routed: true}})).To(HaveField("State", state))
		Expect(assess.Boot(ctx, host, assess.Question{})).To(HaveField("State", assess.Good), "there was none before")
	},
		Entry("of IPv4", routesHead+localV4+defaultV4, noDefaultV6, true, assess.Good),
		Entry("of IPv6", routesHead, noDefaultV6+defaultV6, true, assess.Good),
		Entry("and not without any route", "", "", false, assess.Undecided),
		Entry("and not with another", routesHead+localV4, noDefaultV6, false, assess.Undecided),
		Entry("and not with that of a half of all addresses", routesHead+halfV4, "", false, assess.Undecided),
		Entry("and not with a line that is cut short", routesHead+"eth0\t00000000\n", "", false, assess.Undecided),
		Entry("and not with one that rejects", routesHead, rejectV6, false, assess.Undecided),
	)

	DescribeTable("is an error if it cannot be determined", func(spoil func(file string) error) {
		host := hostWith("", "")
		Expect(spoil(host.Path("/proc/net/route"))).To(Succeed())
		_, err := assess.Units(ctx, host)
		Expect(err).To(MatchError(ContainSubstring("/proc/net/route")))
		_, err = assess.Boot(ctx, host, assess.Question{Before: assess.UnitStates{Routed: true}})
		Expect(err).To(MatchError(ContainSubstring("/proc/net/route")))
	},
		Entry("unreadable", func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o755)) }),
		Entry("with flags that are none", func(file string) error {
			return os.WriteFile(file, []byte(strings.Replace(defaultV4, "0003", "none", 1)), 0o600)
		}),
	)

	It("is described", func() {
		Expect(assess.Boot(ctx, hostWith("", ""), assess.Question{Before: assess.UnitStates{Routed: true}})).
			To(HaveField("Reasons", ConsistOf("the host has no default route, and had one before")))
	})
})
