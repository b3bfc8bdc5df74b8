// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// table has one suite for each way that one can end.
const table = `# SUITE SECONDS TARGET

one    100
bad    150
two    300
huge   5000
`

// suite stands for hack/test/suite.sh: it says that it was started and when, and takes as long as it is recorded to.
const suite = `#!/bin/sh
name=${1##*/}
echo "$name at $(cat "$PLAY/clock") with ${2:-nothing}" >>"$PLAY/started"
seconds=$(awk -v name="$name" '$1 == name { print $2 }' "$LONG_TABLE")
echo $(($(cat "$PLAY/clock") + seconds)) >"$PLAY/next" && mv "$PLAY/next" "$PLAY/clock"
[ "$name" != bad ]
`

// pair stands for suites that end only when two run at once.
const pair = `#!/bin/sh
name=${1##*/}
echo "$name" >>"$PLAY/started"
case $name in
one | two) echo met >"$PLAY/meeting" ;;
*) cat "$PLAY/meeting" >/dev/null ;;
esac
`

// alone stands for suites that fail beside another. The first runs until it was asked how busy the machine is.
const alone = `#!/bin/sh
mkdir "$PLAY/running" || exit 1
echo "${1##*/}" >>"$PLAY/started"
until [ "${1##*/}" != one ] || [ -e "$PLAY/asked" ]; do :; done
rmdir "$PLAY/running"
`

// busy says that the machine is.
const busy = "touch $PLAY/asked; echo 99"

// play runs long.sh on a table, with a clock that stands at 0 until a suite moves it.
type play struct{ folder, script string }

func newPlay(table, run string) play {
	GinkgoHelper()
	script, err := filepath.Abs("long.sh")
	Expect(err).NotTo(HaveOccurred())
	p := play{folder: GinkgoT().TempDir(), script: script}
	for name, content := range map[string]string{"table": table, "run": run, "clock": "0\n", "started": ""} {
		Expect(os.WriteFile(p.path(name), []byte(content), 0o755)).To(Succeed())
	}
	return p
}

func (p play) path(name string) string { return filepath.Join(p.folder, name) }

func (p play) run(ctx context.Context, environment []string, flags ...string) (report, started []string, err error) {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, p.script, flags...)
	cmd.Env = append(os.Environ(), "PLAY="+p.folder, "LONG_TABLE="+p.path("table"), "LONG_RUN="+p.path("run"),
		"LONG_RESULTS="+p.path("results"), "CLOCK=cat "+p.path("clock"), "DEADLINE=", "PARALLEL=1", "LOAD=echo 0", "LONG_COMMIT=00000000")
	cmd.Env = append(cmd.Env, environment...)
	output, err := cmd.CombinedOutput()
	GinkgoWriter.Printf("%s", output)
	for line := range strings.Lines(string(output)) {
		if line, isReport := strings.CutPrefix(line, "==> long suite "); isReport {
			report = append(report, strings.TrimSpace(line))
		}
	}
	log, readErr := os.ReadFile(p.path("started"))
	Expect(readErr).NotTo(HaveOccurred())
	for line := range strings.Lines(string(log)) {
		started = append(started, strings.TrimSpace(line))
	}
	return report, started, err
}

var _ = Describe("The long suites", func() {
	DescribeTable("run in turn, as far as there is time", func(ctx SpecContext, commit, deadline string, fails bool, wantStarted, wantReport []string) {
		report, started, err := newPlay(table, suite).run(ctx, []string{"LONG_COMMIT=" + commit, "DEADLINE=" + deadline}, "-flag")
		Expect(started).To(Equal(wantStarted))
		Expect(report).To(Equal(wantReport))
		Expect(err != nil).To(Equal(fails), "a suite that fails has failed, one that has no time has not")
	},
		Entry("beginning with the first", "000000000a", "850", true,
			[]string{"one at 0 with -flag", "bad at 100 with -flag", "two at 250 with -flag"},
			[]string{"one passed in 100s", "bad FAILED after 150s", "two passed in 300s", "huge did not run: it can take 10000s, and 300s are left"}),
		Entry("beginning with the third, at another commit", "00000006ff", "699", false,
			[]string{"two at 0 with -flag", "one at 300 with -flag"},
			[]string{"two passed in 300s", "huge did not run: it can take 10000s, and 399s are left", "one passed in 100s", "bad did not run: it can take 300s, and 299s are left"}),
		Entry("to the last second of twice what is recorded", "00000001ff", "300", true,
			[]string{"bad at 0 with -flag"},
			[]string{
				"bad FAILED after 150s", "two did not run: it can take 600s, and 150s are left",
				"huge did not run: it can take 10000s, and 150s are left", "one did not run: it can take 200s, and 150s are left",
			}),
		Entry("leaving out what has less than that", "00000001ff", "299", false, []string{"one at 0 with -flag"},
			[]string{
				"bad did not run: it can take 300s, and 299s are left", "two did not run: it can take 600s, and 299s are left",
				"huge did not run: it can take 10000s, and 299s are left", "one passed in 100s",
			}),
		Entry("none after the deadline", "00000000ff", "-20", false, nil,
			[]string{
				"one did not run: it can take 200s, and -20s are left", "bad did not run: it can take 300s, and -20s are left",
				"two did not run: it can take 600s, and -20s are left", "huge did not run: it can take 10000s, and -20s are left",
			}),
		Entry("all where there is no deadline", "00000000ff", "", true,
			[]string{"one at 0 with -flag", "bad at 100 with -flag", "two at 250 with -flag", "huge at 550 with -flag"},
			[]string{"one passed in 100s", "bad FAILED after 150s", "two passed in 300s", "huge passed in 5000s"}),
	)

	It("run two at a time", func(ctx SpecContext) {
		p := newPlay("one 1\nother 1\ntwo 1\nanother 1\n", pair)
		Expect(syscall.Mkfifo(p.path("meeting"), 0o600)).To(Succeed())
		report, started, err := p.run(ctx, []string{"PARALLEL=2"})
		Expect(err).NotTo(HaveOccurred())
		Expect(started).To(ConsistOf("one", "other", "two", "another"))
		Expect(report).To(Equal([]string{"one passed in 0s", "other passed in 0s", "two passed in 0s", "another passed in 0s"}))
	}, SpecTimeout(specs.Patience))

	It("run one at a time on a machine that is busy", func(ctx SpecContext) {
		p := newPlay("one 1\nother 1\ntwo 1\n", alone)
		Expect(os.WriteFile(p.path("busy"), []byte("#!/bin/sh\n"+busy), 0o755)).To(Succeed())
		_, started, err := p.run(ctx, []string{"PARALLEL=2", "LOAD=" + p.path("busy")})
		Expect(err).NotTo(HaveOccurred())
		Expect(started).To(Equal([]string{"one", "other", "two"}))
	}, SpecTimeout(specs.Patience))

	It("fail with what cannot be built for them", func(ctx SpecContext) {
		report, started, err := newPlay("one 1 no-such-target\ntwo 1\n", suite).run(ctx, nil)
		Expect(err).To(HaveOccurred())
		Expect(started).To(Equal([]string{"two at 0 with nothing"}))
		Expect(report).To(Equal([]string{"one FAILED after 0s", "two passed in 1s"}))
	}, SpecTimeout(specs.Patience))

	It("are those of the table", func() {
		for _, line := range rows() {
			Expect(line).To(HaveLen(2+strings.Count(line[len(line)-1], "tools-")), "name, seconds and target of %v", line)
			Expect(filepath.Join("../../test/integration", line[0])).To(BeADirectory())
			Expect(line[1]).To(MatchRegexp("^[1-9][0-9]*$"))
		}
	})
})

// rows of long-suites.txt, in words.
func rows() [][]string {
	GinkgoHelper()
	content, err := os.ReadFile("long-suites.txt")
	Expect(err).NotTo(HaveOccurred())
	all := [][]string{}
	for line := range strings.Lines(string(content)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			all = append(all, words)
		}
	}
	Expect(all).NotTo(BeEmpty())
	return all
}
