// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

var _ = Describe("An upgrade", func() {
	var m *machine

	BeforeEach(func() { m = newMachine() })

	expectSucceeded := func(digest string) {
		GinkgoHelper()
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest)))
		Expect(m.last().OS).To(And(HaveField("Snapshot", BeEquivalentTo(2)), HaveField("BootMode", "active"),
			HaveField("Version", "v2"), HaveField("Digest", digest), HaveField("BootID", "boot-2")))
		m.expectWhole("2", "1")
	}

	It("writes a snapshot, with what hooks change in it, verifies it, boots it and passes its assessment", func() {
		uri, digest := push(m.registry, "v2", kernel, files{"system/oem/99_change.yaml": "stages:\n  after-upgrade.after:\n" +
			"  - commands: [\"echo changed >/run/elemental/workingtree/etc/hostname\"]\n"})
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		expectSucceeded(digest)
		Expect(os.ReadFile(m.path("/etc/hostname"))).To(BeEquivalentTo("changed\n"))
		// The machine's /usr is not the snapshot's.
		inSnapshot := func(request string) *exec.Cmd {
			return exec.Command("debugfs", "-R", request, m.path(stateDir+"/.snapshots/2/snapshot.img"))
		}
		Expect(inSnapshot("cat /usr/lib/elemental-agent/snapshot.json").Output()).To(MatchJSON(`{"attempt":"a1","digest":"` + digest + `"}`))
		Expect(inSnapshot("stat /run/elemental-agent").CombinedOutput()).To(ContainSubstring("File not found"), "what records the files is not copied")
	})

	It("succeeds although stages of cloud-init files fail, and reports which ones", func() {
		Expect(os.WriteFile(m.path("/oem/95_fails.yaml"), []byte("name: Ours\nstages:\n"+
			"  before-upgrade:\n  - name: Warm the cache\n    commands: [\"echo no cache >&2; exit 3\"]\n"+
			"  post-upgrade:\n  - commands: [\"true\", \"/oem/nothing --at-all\"]\n"), 0o600)).To(Succeed())
		uri, digest := push(m.registry, "v2", kernel)
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		expectSucceeded(digest)
		Expect(m.last().Upgrade.Message).To(Equal(
			"warning: cloud-init stage before-upgrade failed: no cache: failed to run echo no cache >&2; exit 3: exit status 3; " +
				"warning: cloud-init stage post-upgrade failed: sh: 1: /oem/nothing: not found: failed to run /oem/nothing --at-all: exit status 127"))
	})

	It("fails when there is no list of the files to be written", func() {
		uri, _ := push(m.registry, "v2", kernel, files{"system/oem/00_first.yaml": "stages:\n  after-upgrade.before:\n" +
			"  - commands: [\"rm -rf /run/elemental/workingtree/run/elemental-agent\"]\n"})
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", ContainSubstring("the list of the files"))))
		m.expectSnapshots("1")
	})

	It("is refused before anything changes when the attempt would not persist across the reboot", func() {
		m.within("cp -a /var/lib/elemental/agent /tmp/agent && mount -t tmpfs volatile /var/lib/elemental/agent && cp -a /tmp/agent/. /var/lib/elemental/agent")
		uri, _ := push(m.registry, "v2", kernel)
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		remedy := "/var/lib/elemental/agent is on /var/lib/elemental/agent (tmpfs): it does not survive a reboot and an upgrade: " +
			"name a directory on the persistent partition in agent.workDir of the agent's configuration"
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Digest", ""),
			HaveField("Message", "the state of this upgrade would be lost in the reboot: "+remedy+"; the OS was not changed")))
		Expect(m.last()).To(And(HaveField("VolatileWorkDir", remedy), HaveField("OS.BootID", "boot-1")))
		m.expectSnapshots("1")
	})

	// killed upgrades to v2 and kills processes when the CLI is blocked at a moment.
	killed := func(moment string, recovery bool, signal syscall.Signal, names ...string) (digest string) {
		GinkgoHelper()
		uri, digest := push(m.registry, "v2", kernel)
		m.hold(moment)
		m.upgrade("a1", wire.OSVersion{ImageURI: uri, UpgradeRecovery: recovery})
		m.reached(moment)
		m.signal(signal, names...)
		m.release(moment)
		return digest
	}

	DescribeTable("survives a kill while the tree is copied into the image",
		func(signal syscall.Signal, names ...string) {
			expectSucceeded(killed("rsync", false, signal, names...))
		},
		Entry("of the CLI, as by the OOM killer", syscall.SIGKILL, "elemental"),
		Entry("of the agent", syscall.SIGKILL, "elemental-agent"),
		Entry("of the unit, as by systemctl restart", syscall.SIGTERM, "elemental-agent", "unshare", "elemental", "rsync"),
	)

	DescribeTable("survives a kill of the CLI",
		func(moment string, recovery bool) {
			expectSucceeded(killed(moment, recovery, syscall.SIGKILL, "elemental"))
		},
		Entry("in a hook before it writes", "before-upgrade", false),
		Entry("in a hook in the new tree", "after-upgrade-chroot", false),
		Entry("while the image is unpacked", unpacking, false),
		Entry("after it was recorded in one of two places", recorded, false),
		Entry("when the tree is unpacked and there is no image yet", "after-upgrade", false),
		Entry("while it writes the recovery system", "mksquashfs", true),
		Entry("after the new snapshot has become the default, and before it is recorded", "post-upgrade", false),
	)

	It("leaves the host as before when the CLI fails after it has made the new snapshot the default", func() {
		uri, _ := push(m.registry, "v2")
		m.upgrade("a1", wire.OSVersion{ImageURI: uri, UpgradeRecovery: true})
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", HavePrefix(
			"writing the image failed (3 of 3): elemental upgrade: exit code 1: Could not find kernel and/or initrd: no Kernel file found"))))
		m.expectUntouched()
	})

	It("creates the recovery system from the verified image, whatever the host's configuration of the CLI names", func() {
		m.within(`mkdir -p /etc/elemental/config.d`,
			`printf 'upgrade:\n  recovery-system:\n    uri: oci:registry.invalid/os:v0\n' | tee /etc/elemental/config.d/recovery.yaml`)
		uri, digest := push(m.registry, "v2", kernel)
		m.upgrade("a1", wire.OSVersion{ImageURI: uri, UpgradeRecovery: true})
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest)))
		m.expectWhole("2", "1")
	})

	It("is refused before it is written when the image does not fit, unpacked", func() {
		uri, _ := push(m.registry, "v2", kernel, large)
		m.within(fmt.Sprintf(fill, 100))
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", MatchRegexp(
			`^not enough space on the state partition: image \S+ needs \d+ MiB \(unpacked it has \d+ MiB, .*\), \d+ MiB are free: use a smaller image`))))
		m.expectSnapshots("1")
	})

	It("deletes the fallback, which it replaces anyway, when the image would not fit otherwise", func() {
		for attempt, more := range []files{large, {}} {
			uri, _ := push(m.registry, fmt.Sprint("v", attempt+2), kernel, more)
			m.upgrade(fmt.Sprint("a", attempt), wire.OSVersion{ImageURI: uri})
			Expect(m.ends(fmt.Sprint("a", attempt))).To(HaveField("Phase", wire.PhaseSucceeded))
		}
		m.expectWhole("3", "2")
		m.within(fmt.Sprintf(fill, 150))
		uri, digest := push(m.registry, "v4", kernel, large)
		m.upgrade("a4", wire.OSVersion{ImageURI: uri})
		Expect(m.ends("a4")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest)))
		Expect(os.ReadFile(filepath.Join(m.share, "agent.log"))).To(ContainSubstring("Removing a snapshot that the upgrade would remove at its end"))
		m.expectWhole("4", "3")
	})

	It("does not boot a snapshot that a full state partition has truncated", func() {
		uri, _ := push(m.registry, "v2", kernel, large)
		m.hold("rsync")
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		m.reached("rsync")
		m.within(fmt.Sprintf(fill, 1)) // what is reserved for root is less than the image
		m.release("rsync")
		Expect(m.ends("a1")).To(HaveField("Phase", wire.PhaseFailed))
		Expect(os.ReadFile(filepath.Join(m.share, "agent.log"))).To(ContainSubstring("files differ from what was written"))
		m.expectUntouched()
	})

	It("unmounts what an upgrade in the mount namespace of the host left", func() {
		m.within("mkdir -p /run/elemental/workingtree "+workDir+" && mount --bind "+workDir+" /run/elemental/workingtree",
			"cd /run/elemental/workingtree && mkdir -p dev oem && mount --rbind /dev dev && mount --bind /oem oem")
		Expect(m.leftovers()).To(ContainElement("mount " + workDir + "/oem"))
		uri, digest := push(m.registry, "v2", kernel)
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		Expect(m.ends("a1").Digest).To(Equal(digest))
		m.expectWhole("2", "1")
		Expect(m.path("/oem/90_hold.yaml")).To(BeAnExistingFile())
	})

	It("reboots to remove busy mounts", func() {
		m.within("mkdir -p /run/elemental/workingtree "+workDir+" && mount --bind "+workDir+" /run/elemental/workingtree",
			"cd /run/elemental/workingtree && { sleep 600 & }")
		uri, digest := push(m.registry, "v2", kernel)
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest)))
		Expect(m.last().OS.BootID).To(Equal("boot-3"))
		m.expectWhole("2", "1")
	})
})

// largeFile makes up most of a large image.
const largeFile = "usr/share/large"

// large compresses to next to nothing.
var large = files{largeFile: strings.Repeat("0123456789abcdef", 70<<20/16)}

// fill leaves so many MiB on the state partition.
const fill = "fallocate -l $(( $(df -B1 --output=avail " + stateDir + " | tail -n1) - (%d << 20) )) " + stateDir + "/filler"

// workDir is the tree of an unfinished snapshot.
const workDir = stateDir + "/.snapshots/2/snapshot.workDir"
