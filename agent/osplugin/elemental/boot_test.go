// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental_test

import (
	"context"
	"errors"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
)

const oemEnv = "/run/elemental/efi/grub_oem_env"

var _ = Describe("The next boot", func() {
	var r *rig
	ctx := context.Background()

	BeforeEach(func() {
		r = newRig()
		for id := range 3 {
			r.snapshot(id+1, "x")
		}
		r.link(3)
		r.state(`1: {digest: "sha256:1"}`, `2: {digest: "sha256:2"}`, `3: {digest: "sha256:3", active: true}`)
		r.grub(oemEnv, "state_label=COS_STATE", "passive_snaps=2 1", "default_fallback=0 1 2 3")
		r.mount("7:0 / /", "254:4 / "+stateDir, "254:1 / /run/elemental/efi ro")
	})

	oem := func() []string {
		lines := strings.Split(r.read(oemEnv), "\n")
		slices.Sort(lines)
		return lines
	}

	DescribeTable("is one snapshot for good, as the toolkit's default",
		func(before []string, snapshot, bad int, passive, fallback string, after ...string) {
			r.grub("/oem/grubenv", before...)
			Expect(r.plugin.BootAlways(ctx, int32(snapshot), int32(bad))).To(Succeed())
			Expect(r.grubenv()).To(Equal(append([]string{}, after...)))
			Expect(r.linked()).To(Equal(string(rune('0'+snapshot)) + "/snapshot.img"))
			Expect(oem()).To(Equal([]string{"default_fallback=" + fallback, "passive_snaps=" + passive, "state_label=COS_STATE"}))
			calls := len(r.runner.Calls())
			Expect(r.plugin.BootAlways(ctx, int32(snapshot), int32(bad))).To(Succeed())
			for _, again := range r.runner.Calls()[calls:] {
				Expect(again).To(HaveSuffix(" list"), "a second time changes nothing")
			}
		},
		Entry("with all others as fallbacks", nil, 2, 0, "3 1", "0 1 2 3"),
		Entry("but for a bad one", nil, 2, 3, "1", "0 1 2"),
		Entry("against the assessment and the entries that would overrule it",
			[]string{"boot_assessment_check=yes", "last_boot_attempt=passive2", "next_entry=passive3", "other=1", "saved_entry=passive3"},
			2, 3, "1", "0 1 2", "other=1"),
		Entry("where the assessment is always due", []string{"boot_assessment_always_check=yes"}, 2, 3, "1", "0 1 2", "boot_assessment_always_check=yes"),
		Entry("the one that is the default anyway", []string{"saved_entry=passive2"}, 3, 0, "2 1", "0 1 2 3"),
	)

	DescribeTable("falls back to no snapshot that is not whole or not recorded",
		func(spoil func()) {
			spoil()
			Expect(r.plugin.BootAlways(ctx, 2, 0)).To(Succeed())
			Expect(oem()).To(ContainElements("passive_snaps=3", "default_fallback=0 1 2"))
		},
		Entry("half written", func() { r.write(snapshots+"/1/snapshot.img", "") }),
		Entry("unrecorded", func() { r.state(`2: {digest: "sha256:2"}`, `3: {digest: "sha256:3"}`) }),
	)

	It("has the EFI partition writable no longer than that takes", func() {
		Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
		calls := slices.DeleteFunc(r.runner.Calls(), func(call string) bool { return strings.HasSuffix(call, " list") })
		Expect(calls).To(HaveExactElements("mount -o remount,rw "+r.path("/run/elemental/efi"),
			"grub2-editenv "+r.path("/work/grub_oem_env")+" set passive_snaps=1 default_fallback=0 1 2",
			"mount -o remount,ro "+r.path("/run/elemental/efi")))
	})

	It("makes the EFI partition read-only that an agent before it was killed while it wrote there", func() {
		Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
		written := len(r.runner.Calls())
		r.mount("7:0 / /", "254:4 / "+stateDir, "254:1 / /run/elemental/efi rw")
		Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
		Expect(r.runner.Calls()[written:]).To(ContainElement("mount -o remount,ro " + r.path("/run/elemental/efi")))
	})

	// GRUB does not replay a journal: of a new default that is only there it would boot the former one.
	It("is on the disk before GRUB's variables no longer keep GRUB from it, and they are after", func() {
		type moment struct{ path, linked, variables string }
		var flushed []moment
		r.sync = func(path string) {
			flushed = append(flushed, moment{path, r.linked(), strings.Join(r.grubenv(), " ")})
		}
		r.grub("/oem/grubenv", "boot_assessment_check=yes", "last_boot_attempt=passive2")
		Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
		before, after := "boot_assessment_check=yes last_boot_attempt=passive2", ""
		Expect(flushed).To(HaveExactElements(
			moment{"/run/elemental/efi", "2/snapshot.img", before}, moment{"/oem", "2/snapshot.img", before}, moment{stateDir, "2/snapshot.img", before},
			moment{"/run/elemental/efi", "2/snapshot.img", after}, moment{"/oem", "2/snapshot.img", after}, moment{stateDir, "2/snapshot.img", after},
		))
	})

	It("cannot be a snapshot that is gone", func() {
		Expect(errors.Is(r.plugin.BootAlways(ctx, 9, 0), osplugin.ErrNoSuchSnapshot)).To(BeTrue())
		Expect(r.linked()).To(Equal("3/snapshot.img"))
	})

	It("is the default again", func() {
		r.grub("/oem/grubenv", "saved_entry=passive2", "next_entry=passive2", "boot_assessment_check=yes")
		Expect(r.plugin.BootNewest(ctx)).To(Succeed())
		Expect(r.grubenv()).To(Equal([]string{"boot_assessment_check=yes"}))
	})

	DescribeTable("is set in a new block when the former one was torn",
		func(written, after []string) {
			r.grub("/oem/grubenv", append([]string{"saved_entry=passive2"}, written...)...)
			Expect(r.plugin.BootNewest(ctx)).To(Succeed())
			r.grub("/oem/grubenv", tornGrub)
			Expect(r.plugin.BootNewest(ctx)).To(Succeed())
			Expect(r.grubenv()).To(Equal(after))
		},
		Entry("with what was set", []string{"boot_assessment_always_check=yes", "other=1"}, []string{"boot_assessment_always_check=yes", "other=1"}),
		Entry("but for what holds for one boot", []string{"last_boot_attempt=passive1", "other=1"}, []string{"other=1"}),
	)

	It("is set in an empty block when the agent has never written one", func() {
		r.grub("/oem/grubenv", tornGrub)
		Expect(r.plugin.BootAlways(ctx, 2, 3)).To(Succeed())
		Expect(r.grubenv()).To(BeEmpty())
	})
})
