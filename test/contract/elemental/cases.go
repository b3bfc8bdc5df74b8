// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Cases declares the specs, each with a host of its own.
func Cases(newHost func() Host) {
	var host Host

	BeforeEach(func() { host = newHost() })

	ended(func(u Upgrade) Outcome { return host.Upgrade(u) }, func() Disk { return host.Look() })
	killed(func(u Upgrade) Outcome { return host.Upgrade(u) }, func() Disk { return host.Look() })

	It("begins without the state that it cannot decode", func() {
		host.CutRecord("            date: \"")
		end := host.Upgrade(Upgrade{To: v2})
		Expect(end.ExitCode).To(BeZero(), end.Stdout)
		got := host.Look()
		Expect(got.Default).To(Equal("2/" + image))
		Expect(got.Recorded).To(Equal(map[int]bool{2: true}))
	})

	It("writes a large image completely", func() {
		end := host.Upgrade(Upgrade{To: Image{Version: "v2", Large: true}})
		Expect(end.ExitCode).To(BeZero(), end.Stdout)
		Expect(host.Whole(2)).To(BeTrue())
	})

	It("keeps the modes of files", func() {
		modes := map[string]int64{"usr/bin/setuid": 0o4755, "usr/bin/setgid": 0o2755, "etc/secret": 0o600, "etc/read-only": 0o444}
		end := host.Upgrade(Upgrade{To: Image{Version: "v2", Modes: modes}})
		Expect(end.ExitCode).To(BeZero(), end.Stdout)
		for path, mode := range modes {
			Expect(host.Mode(2, path)).To(Equal(mode), path)
		}
	})

	It("exits 0 with a truncated snapshot as the default when the state partition becomes full", func() {
		host.Fill()
		end := host.Upgrade(Upgrade{To: Image{Version: "v2", Large: true}})
		Expect(end.ExitCode).To(BeZero(), end.Stdout)
		got := host.Look()
		expectUpgraded(got, 2, "2/"+image, "1")
		Expect(got.Snapshots).To(Equal(map[int][]string{1: {image}, 2: {image}}))
		Expect(got.Loops).To(Equal(before().Loops))
		Expect(got.Mounts).To(BeEmpty())
		Expect(host.Whole(2)).To(BeFalse())
	})
}

// ended are the cases of calls that complete.
func ended(upgrade func(Upgrade) Outcome, look func() Disk) {
	It("makes the new snapshot the default, and the running one its fallback", func() {
		end := upgrade(Upgrade{To: v2})
		Expect(end.ExitCode).To(BeZero(), end.Stdout)
		got := look()
		expectUpgraded(got, 2, "2/"+image, "1")
		Expect(got.Fallback).To(Equal("0 1 2"))
		Expect(got.Snapshots).To(Equal(map[int][]string{1: {image}, 2: {image}}))
		Expect(got.Loops).To(Equal(before().Loops))
		Expect(got.Mounts).To(BeEmpty())
	})

	It("logs its errors to standard output, and leaves nothing behind", func() {
		end := upgrade(Upgrade{To: Image{Version: "v2", Missing: true}})
		Expect(end.ExitCode).To(Equal(1))
		Expect(end.Stdout).To(ContainSubstring("ERRO"))
		Expect(end.Stderr).NotTo(ContainSubstring("ERRO"))
		expectUntouched(look())
	})

	It("exits 0 when a hook fails, and logs that", func() {
		end := upgrade(Upgrade{To: Image{Version: "v2", FailingStage: "after-upgrade"}})
		Expect(end.ExitCode).To(BeZero())
		Expect(end.Stdout).To(ContainSubstring("ERRO"))
		expectUpgraded(look(), 2, "2/"+image, "1")
	})

	It("leaves mounts, a loop device and a dangling default when an image cannot become the recovery system", func() {
		end := upgrade(Upgrade{To: Image{Version: "v2", NoKernel: true}, Recovery: true})
		Expect(end.ExitCode).To(Equal(1))
		Expect(end.Stdout).To(MatchRegexp(`(?s)ERRO.*no Kernel file found`))
		got := look()
		Expect(got.Default).To(Equal("2/" + image))
		Expect(got.Snapshots).NotTo(HaveKey(2))
		Expect(got.Recorded).To(Equal(before().Recorded))
		Expect(got.Mounts).To(ContainElement("/run/elemental/recovery/boot-transition/recovery.imgTree"))
		Expect(got.Loops).To(HaveLen(2))
	})

	It("does not begin while the default is missing", func() {
		upgrade(Upgrade{To: Image{Version: "v2", NoKernel: true}, Recovery: true})
		end := upgrade(Upgrade{To: v2})
		Expect(end.ExitCode).To(Equal(1))
		Expect(end.Stdout).To(ContainSubstring("failed to determine active snapshot"))
		got := look()
		Expect(got.Default).To(Equal("2/" + image))
		Expect(got.Snapshots).To(Equal(before().Snapshots))
		Expect(got.Recorded).To(Equal(before().Recorded))
	})
}

// killed are the cases of calls that are killed.
func killed(upgrade func(Upgrade) Outcome, look func() Disk) {
	It("leaves the mounts of the new tree when it is killed in a hook in that tree", func() {
		Expect(upgrade(Upgrade{To: v2, Killed: InHook}).ExitCode).To(Equal(-1))
		got := look()
		Expect(got.Snapshots).To(Equal(map[int][]string{1: {image}, 2: {workDir}}))
		Expect(got.Default).To(Equal(before().Default))
		Expect(got.Recorded).To(Equal(before().Recorded))
		Expect(got.Mounts).To(ContainElements(tree, tree+"/dev", tree+"/proc", tree+"/sys", tree+"/oem"))
		Expect(got.Loops).To(Equal(before().Loops))
	})

	It("leaves a loop device on a partial snapshot when it is killed while it copies", func() {
		Expect(upgrade(Upgrade{To: v2, Killed: Packing}).ExitCode).To(Equal(-1))
		got := look()
		Expect(got.Snapshots).To(Equal(map[int][]string{1: {image}, 2: {image, workDir}}))
		Expect(got.Default).To(Equal(before().Default))
		Expect(got.Recorded).To(Equal(before().Recorded))
		Expect(got.Loops).To(Equal([]string{"1/" + image, "2/" + image}))
	})

	It("makes a partial snapshot the first fallback when it is run again after a kill", func() {
		upgrade(Upgrade{To: v2, Killed: InHook})
		end := upgrade(Upgrade{To: v2})
		Expect(end.ExitCode).To(BeZero(), end.Stdout)
		got := look()
		expectUpgraded(got, 3, "3/"+image, "2 1")
		Expect(got.Fallback).To(Equal("0 1 2 3"))
	})

	It("leaves an unrecorded default when it is killed before it writes state.yaml", func() {
		Expect(upgrade(Upgrade{To: v2, Killed: Unrecorded}).ExitCode).To(Equal(-1))
		got := look()
		Expect(got.Default).To(Equal("2/" + image))
		Expect(got.Recorded).To(Equal(before().Recorded))
		Expect(got.Snapshots).To(Equal(map[int][]string{1: {image}, 2: {image}}))
		Expect(got.Check).To(Equal("yes"))
	})
}

// before is the disk of a host that has just booted.
func before() Disk {
	return Disk{
		Snapshots: map[int][]string{1: {image}}, Default: "1/" + image, Recorded: map[int]bool{1: true},
		Passive: "", Loops: []string{"1/" + image},
	}
}

func expectUntouched(got Disk) {
	GinkgoHelper()
	was := before()
	Expect(got.Snapshots).To(Equal(was.Snapshots))
	Expect(got.Default).To(Equal(was.Default))
	Expect(got.Recorded).To(Equal(was.Recorded))
	Expect(got.Passive).To(Equal(was.Passive))
	Expect(got.Loops).To(Equal(was.Loops))
	Expect(got.Mounts).To(BeEmpty())
}

// expectUpgraded asserts that another snapshot is the default instead of 1.
func expectUpgraded(got Disk, snapshot int, link, passive string) {
	GinkgoHelper()
	Expect(got.Default).To(Equal(link))
	Expect(got.Recorded).To(Equal(map[int]bool{1: false, snapshot: true}))
	Expect(got.Passive).To(Equal(passive))
	Expect(got.Check).To(Equal("yes"))
}

const (
	image   = "snapshot.img"
	workDir = "snapshot.workDir"
	tree    = "/run/elemental/workingtree"
)

var v2 = Image{Version: "v2"}

// CutRecord cuts a state.yaml behind the first line of a text; the rest of the text takes the place of what followed.
func CutRecord(path, text string) {
	GinkgoHelper()
	content, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	first, rest, _ := strings.Cut(text, "\n")
	before, _, found := strings.Cut(string(content), first)
	Expect(found).To(BeTrue(), "%s has no %q", path, first)
	if strings.Contains(text, "\n") {
		rest = "\n" + rest
	}
	Expect(os.WriteFile(path, []byte(before+first+rest), 0o644)).To(Succeed())
}
