// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterupgrade/window"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestWindow(t *testing.T) {
	specs.Run(t, "Window")
}

func at(value string) time.Time {
	GinkgoHelper()
	parsed, err := time.Parse(time.RFC3339, value)
	Expect(err).NotTo(HaveOccurred())
	return parsed
}

func parse(schedule, zone string, duration time.Duration) window.Window {
	GinkgoHelper()
	parsed, err := window.Parse(schedule, zone, duration)
	Expect(err).NotTo(HaveOccurred())
	return parsed
}

func written(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

var _ = Describe("Windows", func() {
	const night, hours = "0 22 * * 1-5", 6 * time.Hour

	DescribeTable("are open", func(schedule, zone string, duration time.Duration, now, closes, next string) {
		windows := []window.Window{parse(schedule, zone, duration)}
		Expect(written(window.Closes(windows, at(now)))).To(Equal(closes), "closes")
		Expect(written(window.Next(windows, at(now)))).To(Equal(next), "next")
	},
		Entry("before", night, "UTC", hours, "2026-11-26T21:59:59Z", "", "2026-11-26T22:00:00Z"),
		Entry("from when they open", night, "UTC", hours, "2026-11-26T22:00:00Z", "2026-11-27T04:00:00Z", "2026-11-27T22:00:00Z"),
		Entry("until they close", night, "UTC", hours, "2026-11-27T03:59:59Z", "2026-11-27T04:00:00Z", "2026-11-27T22:00:00Z"),
		Entry("after", night, "UTC", hours, "2026-11-27T04:00:00Z", "", "2026-11-27T22:00:00Z"),
		Entry("over the weekend", night, "UTC", hours, "2026-11-28T12:00:00Z", "", "2026-11-30T22:00:00Z"),
		Entry("in the time of a zone", night, "Europe/Berlin", hours, "2026-11-26T20:59:59Z", "", "2026-11-26T21:00:00Z"),
		Entry("in summer", night, "Europe/Berlin", hours, "2026-07-01T20:00:00Z", "2026-07-02T02:00:00Z", "2026-07-02T20:00:00Z"),
		// On 2026-03-29 clocks in Berlin go from 02:00 (01:00 UTC) to 03:00.
		Entry("that open in the hour that the clock skips, at the next valid instant", "30 2 * * *", "Europe/Berlin", time.Hour, "2026-03-29T00:30:00Z", "", "2026-03-29T01:00:00Z"),
		Entry("that are open while the clock is put forward", "0 1 * * *", "Europe/Berlin", 3*time.Hour, "2026-03-29T02:59:00Z", "2026-03-29T03:00:00Z", "2026-03-29T23:00:00Z"),
		// On 2026-10-25 clocks in Berlin go from 03:00 (01:00 UTC) back to 02:00.
		Entry("that open in the hour that the clock shows twice, the first time", "30 2 * * *", "Europe/Berlin", time.Hour, "2026-10-24T12:00:00Z", "", "2026-10-25T00:30:00Z"),
		Entry("and not the second time", "30 2 * * *", "Europe/Berlin", time.Hour, "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"),
		// On 2026-04-05 clocks on Lord Howe Island go back by half an hour.
		Entry("where clocks change by half an hour", "45 1 * * *", "Australia/Lord_Howe", time.Hour, "2026-04-04T12:00:00Z", "", "2026-04-04T14:45:00Z"),
	)

	It("that follow each other without a pause are one", func() {
		windows := []window.Window{parse("0 22 * * *", "UTC", 2*time.Hour), parse("0 0 * * *", "UTC", 3*time.Hour), parse("0 6 * * *", "UTC", time.Hour)}
		Expect(written(window.Closes(windows, at("2026-11-26T22:30:00Z")))).To(Equal("2026-11-27T03:00:00Z"))
		Expect(window.Longest(windows, at("2026-11-26T12:00:00Z"))).To(Equal(5 * time.Hour))
	})

	It("that never close are open for more than a week", func() {
		windows := []window.Window{parse("0 * * * *", "UTC", 90*time.Minute), parse("0 0 * * *", "UTC", 7*24*time.Hour)}
		Expect(window.Closes(windows, at("2026-11-26T12:10:00Z"))).To(BeTemporally(">", at("2026-12-04T12:10:00Z")))
	})

	DescribeTable("are refused", func(schedule, zone, expected string) {
		_, err := window.Parse(schedule, zone, time.Hour)
		Expect(err).To(MatchError(ContainSubstring(expected)))
	},
		Entry("in a zone that is none", "0 22 * * *", "Berlin", `timeZone "Berlin" is not in the IANA database: use a name such as Europe/Berlin`),
		Entry("with a schedule that is none", "22:00", "UTC", `schedule "22:00" is not one of cron`),
		Entry("with the zone of the manager's container", "0 22 * * *", "Local", `timeZone "Local" is not in the IANA database`),
		Entry("with a zone in the schedule", "CRON_TZ=Europe/Berlin 0 22 * * *", "", `schedule "CRON_TZ=Europe/Berlin 0 22 * * *" has a time zone: set timeZone instead`),
		Entry("with an interval", "@every 1h", "UTC", `schedule "@every 1h" is not one of cron`),
		Entry("that open all the time", "* * * * *", "UTC", `schedule "* * * * *" opens more than once in 1h0m0s: set its durationSeconds instead`),
		Entry("that open twice in an hour of some days", "0,30 2 1 * *", "UTC", "opens more than once in 1h0m0s"),
		Entry("on a day that does not exist", "0 0 30 2 *", "UTC", "it names a day that no month has"),
	)
})

// Each of them would be walked through again for each other one.
var _ = Describe("Many windows that open each hour of a day, for days", func() {
	It("are one window", func() {
		windows := []window.Window{}
		for range 16 {
			windows = append(windows, parse("0 0-23 1 * *", "UTC", 7*24*time.Hour))
		}
		Expect(written(window.Closes(windows, at("2026-11-01T12:00:00Z")))).To(Equal("2026-11-08T23:00:00Z"))
		Expect(written(window.Closes(windows, at("2026-11-08T23:00:00Z")))).To(BeEmpty())
		Expect(window.Longest(windows, at("2026-11-20T00:00:00Z"))).To(Equal((7*24 + 23) * time.Hour))
	})
})
