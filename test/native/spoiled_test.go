// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/osimage"
)

var _ = Describe("A disk", func() {
	var m *machine

	BeforeEach(func() { m = newMachine() })

	It("with other content than was downloaded is detected although the hooks list its content", func() {
		uri, _ := push(m.registry, "v2", kernel, files{
			"etc/motd": "as it was sent",
			// Size and time are unchanged.
			"system/oem/00_spoil.yaml": "stages:\n  after-upgrade-chroot:\n  - commands: [\"printf 'as it was read' >/etc/motd && touch -d @0 /etc/motd\"]\n",
		})
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseFailed),
			HaveField("Message", ContainSubstring("the first: /etc/motd is not what was downloaded"))))
		m.expectUntouched()
	})

	// fillRecovery leaves 12 MiB on the recovery partition, including what is reserved for root and for the file
	// system, and leaves it mounted.
	fillRecovery := func(filler string) {
		GinkgoHelper()
		m.within("mkdir -p /tmp/recovery && mount /dev/sda3 /tmp/recovery && cd /tmp/recovery && mkdir -p $(dirname " + filler + ") && " +
			"fallocate -l $(( $(stat --file-system --format='%f * %S' .) - (12 << 20) )) " + filler)
	}
	unmountRecovery := func() { m.within("umount /tmp/recovery && rmdir /tmp/recovery") }

	DescribeTable("without space for another recovery system is reported before anything is downloaded", func(then func()) {
		fillRecovery("filler")
		then()
		uri, _ := push(m.registry, "v2", kernel, files{"usr/share/random": random(32 << 20)})
		m.upgrade("a1", wire.OSVersion{ImageURI: uri, UpgradeRecovery: true})
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", MatchRegexp(
			`^not enough space on the recovery partition: a recovery system of image \S+ needs at least \d+ MiB beside the present one, 1[0-3] MiB are free: set`))))
		m.expectUntouched()
	},
		Entry("where the partition is not mounted", unmountRecovery),
		Entry("where it is already mounted", func() {}),
	)

	It("can reuse the space of an unfinished recovery system", func() {
		fillRecovery("boot-transition/recovery.img")
		unmountRecovery()
		uri, digest := push(m.registry, "v2", kernel, files{"usr/share/random": random(32 << 20)})
		m.upgrade("a1", wire.OSVersion{ImageURI: uri, UpgradeRecovery: true})
		Expect(m.ends("a1")).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Digest", digest)))
		m.expectWhole("2", "1")
	})

	It("that loses writes is detected", func() {
		m.moveState()
		content := random(16 << 20)
		uri, _ := push(m.registry, "v2", kernel, files{"usr/share/random": content})
		// The disk may accept what it has refused once the CLI has removed something. Whatever is booted must be as it
		// was downloaded.
		expectWholeOS := func() {
			GinkgoHelper()
			if m.last().OS.Snapshot == 1 {
				return
			}
			booted, err := os.ReadFile(m.path("/usr/share/random"))
			Expect(err).NotTo(HaveOccurred())
			Expect(sha256.Sum256(booted)).To(Equal(sha256.Sum256([]byte(content))))
		}
		m.hold("rsync")
		m.upgrade("a1", wire.OSVersion{ImageURI: uri})
		m.reached("rsync")
		m.failState()
		m.release("rsync")
		Eventually(m.agentLog).Should(ContainSubstring("not all of it has reached the disk"))
		Expect(m.ends("a1")).To(HaveField("Phase", BeElementOf(wire.PhaseFailed, wire.PhaseSucceeded)))
		expectWholeOS()
		next := fmt.Sprintf("boot-%d", m.boots+1)
		m.switchOff() // also drops what is cached of the disk
		m.attachDisk()
		m.powerOn()
		Eventually(m.last).Should(HaveField("OS.BootID", next))
		expectWholeOS()
	})
})

// random content, which does not compress.
func random(bytes int) string {
	GinkgoHelper()
	content := make([]byte, bytes)
	_, err := rand.Read(content)
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// moveState moves the state partition to a device on which failState can make it fail. The machine has been rebooted
// when this returns.
func (m *machine) moveState() {
	GinkgoHelper()
	memory, state := filepath.Join(m.dir, "memory"), filepath.Join(m.dir, "COS_STATE")
	Expect(os.Mkdir(memory, 0o755)).To(Succeed())
	osimage.Run("mount", "-t", "tmpfs", "-o", "size=2G", "memory", memory)
	DeferCleanup(func() { osimage.Run("umount", "--lazy", memory) })
	m.switchOff()
	osimage.Run("cp", "--sparse=never", state, memory)
	Expect(os.Remove(state)).To(Succeed())
	Expect(os.Symlink(filepath.Join(memory, "COS_STATE"), state)).To(Succeed())
	m.attachDisk()
	m.powerOn()
	Eventually(m.last).Should(HaveField("OS.BootID", "boot-2"))
}

// failState makes every write fail to a block of the state partition that is currently free; writes to allocated blocks
// succeed.
func (m *machine) failState() {
	GinkgoHelper()
	memory := filepath.Join(m.dir, "memory")
	m.within("sync")
	state := filepath.Join(memory, "COS_STATE")
	layout := osimage.Run("dumpe2fs", state)
	var size int64
	_, err := fmt.Sscan(blockSize.FindStringSubmatch(layout)[1], &size)
	Expect(err).NotTo(HaveOccurred())
	for _, match := range freeBlocks.FindAllStringSubmatch(layout, -1) {
		for blocks := range strings.SplitSeq(match[1], ", ") {
			from, to, isRange := strings.Cut(blocks, "-")
			if !isRange {
				to = from
			}
			var first, last int64
			_, err := fmt.Sscan(from+" "+to, &first, &last)
			Expect(err).NotTo(HaveOccurred())
			osimage.Run("fallocate", "--punch-hole", "--offset", fmt.Sprint(first*size), "--length", fmt.Sprint((last-first+1)*size), state)
		}
	}
	used := strings.Fields(osimage.Run("df", "-B1", "--output=used", memory))
	osimage.Run("mount", "-o", "remount,size="+used[1], memory)
}

// freeBlocks are those of a group of blocks, as dumpe2fs lists them.
var freeBlocks = regexp.MustCompile(`(?m)^  Free blocks: (.+)$`)

// blockSize of a file system, in bytes, as dumpe2fs has it.
var blockSize = regexp.MustCompile(`(?m)^Block size: +(\d+)$`)
