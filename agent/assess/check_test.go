// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// at is where a clock of systemtest begins.
var at = systemtest.NewClock().Now()

func passed(name string) wire.Check {
	return wire.Check{Name: name, Verdict: wire.CheckPassed, Since: at}
}

func code(exit int32) *int32 { return &exit }

// ending is a runner whose commands end as the test says.
type ending func(ctx context.Context) (system.Result, error)

func (e ending) Run(ctx context.Context, _ system.Command) (system.Result, error) { return e(ctx) }

var _ = Describe("What a check found", func() {
	var host *system.Host
	BeforeEach(func() { host = &system.Host{Root: GinkgoT().TempDir(), Clock: systemtest.NewClock()} })

	program := func(directory, name string) {
		GinkgoHelper()
		path := host.Path(filepath.Join(directory, name))
		Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		Expect(os.WriteFile(path, nil, 0o755)).To(Succeed())
	}
	long := strings.Repeat("é", 200) // of two bytes each

	DescribeTable("is told of a program", func(result system.Result, fails error, want wire.Check) {
		program(assess.WantedDir, "10-x")
		host.Runner = ending(func(context.Context) (system.Result, error) { return result, fails })
		verdict, err := assess.Checks(context.Background(), host, assess.UnitStates{})
		Expect(err).NotTo(HaveOccurred())
		want.Name, want.Since = "wanted.d/10-x", at
		Expect(verdict.Checks).To(Equal([]wire.Check{want}))
		Expect(verdict.State).To(Equal(assess.Good))
		Expect(verdict.Warnings == nil).To(Equal(want.Verdict == wire.CheckPassed))
	},
		Entry("that passes, whatever it says", system.Result{Stdout: "fine"}, nil, wire.Check{Verdict: wire.CheckPassed, ExitCode: code(0)}),
		Entry("that fails: all lines of its errors", system.Result{Stdout: "out", Stderr: "one\n two\n", ExitCode: 7}, nil,
			wire.Check{Verdict: wire.CheckFailed, ExitCode: code(7), Output: "one\n two"}),
		Entry("that fails: its output where it has no errors", system.Result{Stdout: "out\n", Stderr: " \n", ExitCode: 1}, nil,
			wire.Check{Verdict: wire.CheckFailed, ExitCode: code(1), Output: "out"}),
		Entry("that fails in silence", system.Result{ExitCode: 1}, nil, wire.Check{Verdict: wire.CheckFailed, ExitCode: code(1), Output: "exit code 1"}),
		Entry("that a signal ended", system.Result{ExitCode: -1}, nil, wire.Check{Verdict: wire.CheckFailed, Output: "exit code -1"}),
		Entry("that cannot be started", system.Result{}, os.ErrPermission, wire.Check{Verdict: wire.CheckFailed, Output: "it could not be started"}),
		Entry("that does not end", system.Result{Stdout: "step 3\n"}, context.DeadlineExceeded, wire.Check{Verdict: wire.CheckTimedOut, Output: "step 3"}),
		Entry("that does not end, in silence", system.Result{}, context.DeadlineExceeded,
			wire.Check{Verdict: wire.CheckTimedOut, Output: "not done after 1m0s"}),
		Entry("that says much: the end, in whole characters", system.Result{Stderr: "x" + long + "y", ExitCode: 1}, nil,
			wire.Check{Verdict: wire.CheckFailed, ExitCode: code(1), Output: long[:254] + "y"}),
		Entry("that says as much as fits", system.Result{Stderr: long[:256], ExitCode: 1}, nil,
			wire.Check{Verdict: wire.CheckFailed, ExitCode: code(1), Output: long[:256]}),
		Entry("that would move a terminal's cursor, and what is no text", system.Result{Stderr: "a\x1b[2Jb\rc\xffd", ExitCode: 1}, nil,
			wire.Check{Verdict: wire.CheckFailed, ExitCode: code(1), Output: "a [2Jb c?d"}),
	)

	It("names a required program that was cut off with all of its time, and those before it", func() {
		program(assess.RequiredDir, "10-good")
		program(assess.RequiredDir, "20-hangs")
		program(assess.RequiredDir, "30-never")
		ctx, cancel := context.WithCancel(context.Background())
		runs := 0
		host.Runner = ending(func(context.Context) (system.Result, error) {
			if runs++; runs == 2 {
				cancel()
				return system.Result{}, ctx.Err()
			}
			return system.Result{}, nil
		})
		verdict, err := assess.Checks(ctx, host, assess.UnitStates{})
		Expect(err).To(MatchError(context.Canceled))
		Expect(verdict.Checks).To(Equal([]wire.Check{
			{Name: "required.d/10-good", Verdict: wire.CheckPassed, Since: at, ExitCode: code(0)},
			{Name: "required.d/20-hangs", Verdict: wire.CheckTimedOut, Since: at, Output: "not done when the time for all checks had expired"},
		}))
	})

	It("counts of a required program that is tried again the last time", func() {
		program(assess.RequiredDir, "10-late")
		runs := 0
		host.Runner = ending(func(context.Context) (system.Result, error) {
			runs++
			return system.Result{ExitCode: 2 - min(runs, 2)}, nil
		})
		Expect(assess.Checks(context.Background(), host, assess.UnitStates{})).To(HaveField("Checks", []wire.Check{
			{Name: "required.d/10-late", Verdict: wire.CheckPassed, Since: at.Add(10 * time.Second), ExitCode: code(0)},
		}))
	})

	It("names a check of the agent's own that was cut off, and what was found before", func() {
		host.Runner = ending(func(ctx context.Context) (system.Result, error) { return system.Result{}, context.DeadlineExceeded })
		verdict, err := assess.Boot(context.Background(), host, assess.Question{})
		Expect(err).To(MatchError(context.DeadlineExceeded))
		Expect(verdict.Checks).To(Equal([]wire.Check{
			{Name: "toolkit", Verdict: wire.CheckTimedOut, Since: at, Output: "asking systemd: context deadline exceeded"},
		}))
	})

	It("is the reasons of a check of the agent's own, in whole seconds of UTC", func() {
		verdict := assess.Verdict{State: assess.Good}
		local := at.Add(time.Millisecond).In(time.FixedZone("here", 3600))
		verdict.Include("a", assess.Verdict{State: assess.Undecided, Reasons: []string{"x", "y"}}, local)
		verdict.Include("b", assess.Verdict{State: assess.Bad, Reasons: []string{"z"}}, at)
		verdict.Include("c", assess.Verdict{State: assess.Good}, at)
		Expect(verdict).To(Equal(assess.Verdict{State: assess.Bad, Reasons: []string{"x", "y", "z"}, Checks: []wire.Check{
			{Name: "a", Verdict: wire.CheckWaiting, Since: at, Output: "x\ny"}, {Name: "b", Verdict: wire.CheckFailed, Since: at, Output: "z"}, passed("c"),
		}}))
	})
})
