// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	askToolkit = "systemctl is-active elemental-boot-assessment.service"
	askKubelet = "systemctl is-active kubelet.service"
	askFailed  = "systemctl list-units --state=failed"
	askJobs    = "systemctl list-jobs"
	askUnits   = "systemctl show --property=Id,LoadState,FragmentPath,Transient,TriggeredBy -- "
)

var _ = Describe("The assessment of a boot", func() {
	var (
		runner *systemtest.Runner
		host   *system.Host
	)
	ctx := context.Background()
	node := assess.Question{Bootstrapped: true, Before: assess.UnitStates{Jobs: []string{}}}

	write := func(path, content string, mode os.FileMode) string {
		GinkgoHelper()
		path = host.Path(path)
		Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		Expect(os.WriteFile(path, []byte(content), mode)).To(Succeed())
		return path
	}

	BeforeEach(func() {
		runner = &systemtest.Runner{}
		host = &system.Host{Root: GinkgoT().TempDir(), Runner: runner, Clock: systemtest.NewClock()}
		runner.Say(askToolkit, "active\n")
		runner.Say(askKubelet, "inactive\nactive\ninactive\n")
		runner.Say(askFailed, "")
		runner.Say(askJobs, "")
		runner.Say(askUnits, "")
		runProcess(host, "812", "kubelet", "S", "100", "/usr/bin/kubelet", "--healthz-port=0")
	})

	It("is good when all is", func() {
		Expect(assess.Boot(ctx, host, node)).To(Equal(assess.Verdict{
			State: assess.Good, Kubelet: "kubelet 812 (started at 100) ", Jobs: []string{},
			Checks: []wire.Check{passed("toolkit"), passed("kubelet"), passed("units"), passed("jobs")},
		}))
	})

	DescribeTable("follows the toolkit's",
		func(answer, cmdline string, state assess.State, reasons []string) {
			runner.On(askToolkit, func(system.Command) system.Result { return system.Result{Stdout: answer + "\n", ExitCode: 3} })
			write("/proc/cmdline", cmdline, 0o600)
			Expect(assess.Boot(ctx, host, node)).To(And(HaveField("State", state), HaveField("Reasons", reasons)))
		},
		Entry("running", "activating", "x", assess.Undecided, []string{"waiting for the toolkit's boot assessment"}),
		Entry("failed", "failed", "x", assess.Bad, []string{"the toolkit's boot assessment failed"}),
		Entry("not asked for", "inactive", "x", assess.Good, nil),
		Entry("asked for and not started yet", "inactive", "x elemental.health_check y", assess.Undecided, []string{"waiting for the toolkit's boot assessment"}),
		Entry("passed", "active", "x elemental.health_check", assess.Good, nil),
	)

	It("waits for a kubelet on a node, and only there", func() {
		runner.On(askKubelet, func(system.Command) system.Result {
			return system.Result{Stdout: "inactive\nactivating\n", ExitCode: 3}
		})
		Expect(assess.Boot(ctx, host, node)).To(And(HaveField("State", assess.Undecided), HaveField("Reasons", ConsistOf(HavePrefix("no kubelet is active")))))
		Expect(assess.Boot(ctx, host, assess.Question{})).To(HaveField("State", assess.Good))
	})

	DescribeTable("minds units that failed",
		func(question assess.Question, state assess.State, reasons []string) {
			runner.Say(askFailed, "b.service loaded failed failed B\na.service loaded failed failed A\nelemental-boot-assessment.service loaded failed failed E\n")
			Expect(assess.Boot(ctx, host, question)).To(And(HaveField("State", state), HaveField("Reasons", reasons)))
		},
		Entry("both", node, assess.Bad, []string{"units failed that had not failed before: a.service, b.service"}),
		Entry("one had failed before", assess.Question{Before: assess.UnitStates{Failed: []string{"a.service"}}}, assess.Bad, []string{"units failed that had not failed before: b.service"}),
		Entry("both had", assess.Question{Before: assess.UnitStates{Failed: []string{"a.service", "b.service"}}}, assess.Good, nil),
		Entry("nobody asked", assess.Question{IgnoreUnits: true}, assess.Good, nil),
	)

	DescribeTable("knows a unit by what it is in every boot", func(before, after string, state assess.State) {
		runner.Say(askFailed, after+" loaded failed failed A unit\n")
		question := assess.Question{Before: assess.UnitStates{Failed: []string{before}}}
		Expect(assess.Boot(ctx, host, question)).To(HaveField("State", state))
	},
		Entry("a user's manager", "user@1000.service", "user@1000.service", assess.Good),
		Entry("another user's", "user@1000.service", "user@1001.service", assess.Bad),
		Entry("another terminal", "getty@tty1.service", "getty@tty2.service", assess.Bad),
		Entry("another cluster of a database", "postgresql@14-main.service", "postgresql@15-main.service", assess.Bad),
		Entry("another disk", `systemd-fsck@dev-disk-by\x2duuid-0a1b2c3d4e5f.service`, `systemd-fsck@dev-disk-by\x2duuid-0a1b2c3d4e60.service`, assess.Bad),
		Entry("a device, by the number that it has in this boot", "lvm2-pvscan@8:2.service", "lvm2-pvscan@259:3.service", assess.Good),
		Entry("a device of another template", "lvm2-pvscan@8:2.service", "other@8:2.service", assess.Bad),
	)

	DescribeTable("does not judge by what is no part of the OS", func(unit, shown string) {
		runner.Say(askFailed, unit+" loaded failed failed A unit\n")
		runner.Say(askUnits+unit, shown)
		Expect(assess.Boot(ctx, host, node)).To(And(HaveField("State", assess.Good), HaveField("Reasons", BeEmpty()),
			HaveField("Warnings", []string{"units failed that are no part of the OS: " + unit})))
		runner.Say(askFailed, "")
		runner.Say(askJobs, "7 "+unit+" start running\n")
		Expect(assess.Boot(ctx, host, node)).To(HaveField("State", assess.Good), "its job is not waited for either")
	},
		Entry("the handler of a core dump", "systemd-coredump@12-3456-0.service", ""),
		Entry("the same, as systemd has named it since it knows cookies", "systemd-coredump@0-812-3456_7890-0.service", ""),
		Entry("a process that reads it", "drkonqi-coredump-processor@12-3456-0.service", ""),
		Entry("a connection", "sshd@3-192.0.2.1:22-192.0.2.9:51234.service", ""),
		Entry("a connection by IPv6", "sshd@3-812-2001:db8::1:22-2001:db8::9:51234.service", ""),
		Entry("a connection of a process elsewhere", "varlink@3-unknown.service", ""),
		Entry("what a program has started", "run-u123.service", "Id=run-u123.service\nLoadState=loaded\nFragmentPath=/run/systemd/transient/run-u123.service\nTransient=yes\nTriggeredBy=\n"),
		Entry("a container", "cri-containerd-0123456789abcdef.scope", "Transient=yes\nId=cri-containerd-0123456789abcdef.scope\n"),
		Entry("a mount of a Pod", "var-lib-kubelet-pods-1.mount", "Id=var-lib-kubelet-pods-1.mount\nLoadState=loaded\nFragmentPath=\nTransient=no\n"),
	)

	DescribeTable("judges by what has a file of its own", func(shown string) {
		runner.Say(askFailed, "a.service loaded failed failed A\n")
		runner.Say(askUnits+"a.service", shown)
		Expect(assess.Boot(ctx, host, node)).To(HaveField("State", assess.Bad))
	},
		Entry("in the image", "Id=a.service\nLoadState=loaded\nFragmentPath=/usr/lib/systemd/system/a.service\nTransient=no\n"),
		Entry("that cannot be read", "Id=a.service\nLoadState=bad-setting\nFragmentPath=\nTransient=no\n"),
		Entry("of which nothing is known", ""),
	)

	It("names some units of many", func() {
		lines := ""
		for i := range 12 {
			lines += fmt.Sprintf("u%02d.service loaded failed failed A\n", i)
		}
		runner.Say(askFailed, lines)
		Expect(assess.Boot(ctx, host, node)).To(HaveField("Reasons", []string{"units failed that had not failed before: " +
			"u00.service, u01.service, u02.service, u03.service, u04.service, u05.service, u06.service, u07.service and 4 more"}))
	})

	It("prefers a certain failure to waiting, and names both", func() {
		runner.Say(askToolkit, "activating")
		runner.Say(askFailed, "a.service loaded failed failed A\n")
		Expect(assess.Boot(ctx, host, node)).To(And(HaveField("State", assess.Bad), HaveField("Reasons", []string{
			"units failed that had not failed before: a.service", "waiting for the toolkit's boot assessment",
		})))
	})

	It("asks the user's checks in order, required ones thrice", func() {
		fails := write(assess.RequiredDir+"/20-fails", "", 0o755)
		passes := write(assess.RequiredDir+"/10-passes", "", 0o755)
		write(assess.RequiredDir+"/README", "", 0o644)
		warns := write(assess.WantedDir+"/10-warns", "", 0o755)
		runner.Say(passes, "")
		runner.Fail(fails, 1, "first\nthe disk is slow\n")
		runner.Fail(warns, 2, "")
		verdict, err := assess.Checks(ctx, host, assess.UnitStates{})
		Expect(err).NotTo(HaveOccurred())
		Expect(verdict).To(And(HaveField("State", assess.Bad), HaveField("Reasons", []string{"required check 20-fails failed: the disk is slow"}),
			HaveField("Warnings", []string{"wanted check 10-warns failed: exit code 2"})))
		Expect(verdict.Message()).To(Equal("required check 20-fails failed: the disk is slow; warning: wanted check 10-warns failed: exit code 2"))
		Expect(runner.Calls()).To(Equal([]string{passes, fails, fails, fails, warns}))
	})

	It("names all required checks that fail", func() {
		runner.Fail(write(assess.RequiredDir+"/10-disk", "", 0o755), 1, "slow")
		runner.Fail(write(assess.RequiredDir+"/20-net", "", 0o755), 1, "down")
		Expect(assess.Checks(ctx, host, assess.UnitStates{})).To(HaveField("Reasons", []string{"required check 10-disk failed: slow", "required check 20-net failed: down"}))
	})

	It("only warns of wanted checks", func() {
		warns := write(assess.WantedDir+"/10-warns", "", 0o755)
		runner.Fail(warns, 1, "hm")
		Expect(assess.Checks(ctx, host, assess.UnitStates{})).To(And(HaveField("State", assess.Good), HaveField("Warnings", HaveLen(1))))
	})

	It("comes after the user's programs before the upgrade, of which the first that fails is the last", func() {
		Expect(assess.BeforeUpgrade(ctx, host)).To(Equal(assess.Verdict{State: assess.Good}))
		first, second := write(assess.PreUpgradeDir+"/10-backup", "", 0o755), write(assess.PreUpgradeDir+"/20-notify", "", 0o755)
		third := write(assess.PreUpgradeDir+"/30-never", "", 0o755)
		for _, each := range []string{first, second, third} {
			runner.Say(each, "")
		}
		Expect(assess.BeforeUpgrade(ctx, host)).To(HaveField("State", assess.Good))
		Expect(runner.Calls()).To(Equal([]string{first, second, third}))
		runner.Fail(second, 3, "nobody listens\n")
		verdict, err := assess.BeforeUpgrade(ctx, host)
		Expect(err).NotTo(HaveOccurred())
		Expect(verdict).To(And(HaveField("State", assess.Bad), HaveField("Reasons", []string{"20-notify failed: nobody listens"})))
		Expect(verdict.Checks).To(Equal([]wire.Check{
			{Name: "pre-upgrade.d/10-backup", Verdict: wire.CheckPassed, Since: at, ExitCode: new(int32)},
			{Name: "pre-upgrade.d/20-notify", Verdict: wire.CheckFailed, Since: at, ExitCode: code(3), Output: "nobody listens"},
		}))
		Expect(runner.Calls()[3:]).To(Equal([]string{first, second}), "it is not tried again: it may have done half of its work")
	})

	DescribeTable("waits for what systemd has still to do",
		func(question assess.Question, state assess.State, reasons []string) {
			runner.Say(askJobs, "12 b.mount stop running\n7 a.service start waiting\n")
			Expect(assess.Boot(ctx, host, question)).To(And(HaveField("State", state), HaveField("Reasons", reasons)))
		},
		Entry("all", node, assess.Undecided, []string{"systemd jobs are pending: start a.service, stop b.mount"}),
		Entry("but for what it had to do before", assess.Question{Before: assess.UnitStates{Jobs: []string{"start a.service"}}},
			assess.Undecided, []string{"systemd jobs are pending: stop b.mount"}),
		Entry("but for what it has only just begun", assess.Question{Before: node.Before, Seen: []string{"7"}}, assess.Undecided,
			[]string{"systemd jobs are pending: start a.service"}),
		Entry("and nothing that ends before the next look", assess.Question{Before: node.Before, Seen: []string{}}, assess.Good, nil),
		Entry("unless it is not known what it had to do before", assess.Question{}, assess.Good, nil),
		Entry("unless nobody asked", assess.Question{IgnoreUnits: true, Before: node.Before}, assess.Good, nil),
	)

	It("does not wait for what it had to do before for a device that has another number now", func() {
		runner.Say(askJobs, "9 lvm2-pvscan@259:3.service start running\n")
		question := assess.Question{Before: assess.UnitStates{Jobs: []string{"start lvm2-pvscan@8:2.service"}}}
		Expect(assess.Boot(ctx, host, question)).To(HaveField("State", assess.Good))
	})

	It("does not wait for what a timer has started, however long that takes", func() {
		runner.Say(askJobs, "9 -.mount start waiting\n12 backup.service start running\n13 notify.service start waiting\n14 sock.service start running\n")
		runner.Say(askUnits+"-.mount backup.service notify.service sock.service",
			"Id=-.mount\nTriggeredBy=\n\nId=backup.service\nTriggeredBy=backup.path backup.timer\n\n"+
				"TriggeredBy=daily.timer\nId=notify.service\n\nId=sock.service\nTriggeredBy=sock.socket\n")
		for _, seen := range [][]string{nil, {"9", "12", "13", "14"}} {
			question := assess.Question{Before: node.Before, Seen: seen}
			Expect(assess.Boot(ctx, host, question)).To(And(HaveField("State", assess.Undecided), HaveField("Jobs", []string{"9", "12", "13", "14"}),
				HaveField("Reasons", []string{"systemd jobs are pending: start -.mount, start sock.service"})))
		}
		runner.Say(askJobs, "12 backup.service start running\n")
		runner.Say(askUnits+"backup.service", "Id=backup.service\nTriggeredBy=backup.timer\n")
		Expect(assess.Boot(ctx, host, node)).To(And(HaveField("State", assess.Good), HaveField("Jobs", []string{"12"})))
	})

	It("asks what triggers units only where that matters, once, and of no more than fit", func() {
		Expect(assess.Boot(ctx, host, node)).To(HaveField("State", assess.Good))
		runner.Say(askJobs, "7 a.service start running\n")
		Expect(assess.Boot(ctx, host, assess.Question{Before: assess.UnitStates{Jobs: []string{"start a.service"}}})).To(HaveField("State", assess.Good))
		runner.Say(askJobs, "7 elemental-boot-assessment.service start running\n")
		Expect(assess.Boot(ctx, host, node)).To(HaveField("State", assess.Good), "the toolkit's check waits for it")
		Expect(runner.Calls()).NotTo(ContainElement(HavePrefix(askUnits)))

		jobs, shown := "", ""
		for i := range 65 {
			jobs += fmt.Sprintf("%d unit-%02d.service start waiting\n", i, i)
			shown += fmt.Sprintf("Id=unit-%02d.service\nTriggeredBy=unit.timer\n\n", i)
		}
		runner.Say(askJobs, jobs)
		runner.Say(askUnits, shown[:strings.Index(shown, "Id=unit-64")])
		Expect(assess.Boot(ctx, host, node)).To(And(HaveField("State", assess.Undecided),
			HaveField("Reasons", []string{"systemd jobs are pending: start unit-64.service"})))
		asked := slices.DeleteFunc(runner.Calls(), func(call string) bool { return !strings.HasPrefix(call, askUnits) })
		Expect(asked).To(ConsistOf(HaveSuffix(" unit-63.service")))
	})

	It("takes lines for what they are", func() {
		runner.Say(askFailed, "\n\nb.service loaded failed failed B\n")
		runner.Say(askJobs, "\n12\n13 b.mount\n14 c.mount stop\n")
		Expect(assess.Units(ctx, host)).To(Equal(assess.UnitStates{Failed: []string{"b.service"}, Jobs: []string{"stop c.mount"}}))
	})

	It("takes nothing back that is bad for certain", func() {
		runner.On(askToolkit, func(system.Command) system.Result { return system.Result{ExitCode: 3, Stdout: "failed\n"} })
		runner.Say(askKubelet, "inactive\n")
		Expect(assess.Boot(ctx, host, node)).To(And(HaveField("State", assess.Bad), HaveField("Reasons", HaveLen(2))))
	})

	It("runs what can be run", func() {
		write(assess.RequiredDir+"/README", "not a check", 0o644)
		Expect(os.Mkdir(host.Path(assess.RequiredDir+"/old"), 0o755)).To(Succeed())
		Expect(assess.Checks(ctx, host, assess.UnitStates{})).To(HaveField("State", assess.Good))
		Expect(runner.Calls()).To(BeEmpty())
	})

	It("is not kept from being good by a timer that starts something again and again", func() {
		question := node
		for number, state := range []assess.State{assess.Undecided, assess.Good, assess.Good} {
			runner.Say(askJobs, fmt.Sprintf("%d often.service start running\n", number))
			verdict, err := assess.Boot(ctx, host, question)
			Expect(err).NotTo(HaveOccurred())
			Expect(verdict.State).To(Equal(state), "look %d", number)
			question.Seen = verdict.Jobs
		}
	})

	It("knows what was wrong before, and takes no words for a job", func() {
		runner.Say(askFailed, "b.service loaded failed failed B\na.service loaded failed failed A\n")
		runner.Say(askJobs, "No jobs running.\n")
		Expect(assess.Units(ctx, host)).To(Equal(assess.UnitStates{Failed: []string{"a.service", "b.service"}, Jobs: []string{}}))
		runner.Say(askJobs, "12 b.mount stop running\n7 a.service start waiting\n")
		Expect(assess.Units(ctx, host)).To(HaveField("Jobs", []string{"start a.service", "stop b.mount"}))
	})

	It("is an error when systemd cannot be asked", func() {
		runner.On(askToolkit, func(system.Command) system.Result { return system.Result{ExitCode: 1, Stderr: "no bus"} })
		_, err := assess.Boot(ctx, host, node)
		Expect(err).To(MatchError(ContainSubstring("no bus")))
		runner.Say(askToolkit, "active\n")
		runner.Say(askJobs, "7 a.service start running\n")
		runner.Fail(askUnits, 1, "no answer")
		_, err = assess.Boot(ctx, host, node)
		Expect(err).To(MatchError(And(HavePrefix("asking what units are: "), ContainSubstring("no answer"))))
	})
})
