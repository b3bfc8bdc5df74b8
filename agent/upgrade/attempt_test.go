// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/assess"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

func wanted(attempt string) *wire.Upgrade {
	return &wire.Upgrade{Attempt: attempt, Apply: true, OSVersionManagement: management(`{"imageUri":"oci://r/os:2"}`)}
}

func signedBy(key string) *wire.ImageVerification {
	return &wire.ImageVerification{Rules: []wire.ImageVerificationRule{{Prefix: "r", PublicKeys: []string{key}}}}
}

func management(version string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"osVersion": json.RawMessage(version)}
}

var (
	undecided = assess.Verdict{State: assess.Undecided, Reasons: []string{"waiting for the kubelet"}}
	bad       = assess.Verdict{State: assess.Bad, Reasons: []string{"the kubelet is broken"}}
	good      = assess.Verdict{State: assess.Good}
)

var _ = Describe("An attempt", func() {
	var (
		w   *world
		dir string
	)
	BeforeEach(func() { w, dir = newWorld(), memoryDir() })

	It("goes through all phases in their order", func() {
		w.live(dir, wanted("a1"))
		Expect(w.phases()).To(Equal([]string{
			wire.PhaseFetching, wire.PhaseFetched, wire.PhaseApplying, wire.PhaseRebooting, wire.PhaseAssessing, wire.PhaseSucceeded,
		}))
		Expect(w.last()).To(And(HaveField("Digest", digestOf("2")), HaveField("ImageBytes", BeEquivalentTo(100<<20)),
			HaveField("FreeBytes", BeEquivalentTo(8<<30)), HaveField("FromBootID", "boot-1")))
		Expect(w.booted).To(BeEquivalentTo(2))
		Expect(w.downloaded).To(BeEmpty())
		Expect(w.agent(dir).ImageURI(digestOf("2"))).To(Equal("oci://r/os:2"))
	})

	It("knows which image the host was installed with", func() {
		content := fmt.Sprintf(`{%q:"oci://r/os:1"}`, digestOf("1"))
		Expect(os.WriteFile(filepath.Join(dir, upgrade.InstalledFile), []byte(content), 0o600)).To(Succeed())
		Expect(w.agent(dir).ImageURI(digestOf("1"))).To(Equal("oci://r/os:1"))
		w.live(dir, wanted("a1"))
		Expect(w.agent(dir).ImageURI(digestOf("2"))).To(Equal("oci://r/os:2"))
	})

	It("takes a key of the OS version in its exact spelling only, as the manager does", func() {
		want := wanted("a1")
		want.OSVersionManagement = management(`{"ImageURI":"oci://r/os:3","imageUri":"oci://r/os:2","imageURI":"oci://r/os:4","DEBUG":5}`)
		w.live(dir, want)
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.agent(dir).ImageURI(digestOf("2"))).To(Equal("oci://r/os:2"))
	})

	It("is never carried out twice", func() {
		w.live(dir, wanted("a1"))
		w.live(dir, wanted("a1"))
		Expect(w.written).To(Equal(1))
		Expect(w.boots).To(Equal(2))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
	})

	It("is not mixed up with another that wrote the same image", func() {
		w.live(dir, wanted("a1"))
		w.verdicts = []assess.Verdict{bad} // so that the second does not find the host good as it is
		w.live(dir, wanted("a2"))
		Expect(w.written).To(Equal(2))
		Expect(w.last()).To(And(HaveField("Attempt", "a2"), HaveField("Phase", wire.PhaseSucceeded)))
	})

	DescribeTable("fails before the reboot, and for good",
		func(break_ func(), version, message string) {
			break_()
			want := wanted("a1")
			want.OSVersionManagement = management(version)
			w.live(dir, want)
			Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", ContainSubstring(message))))
			Expect(w.boots).To(Equal(1))
			Expect(w.link).To(BeEquivalentTo(1))
			Expect(w.snapshots).To(HaveLen(1))
			Expect(w.downloaded).To(BeEmpty())
		},
		Entry("without an image", func() { w.resolve = []error{&image.Terminal{Message: "image x does not exist"}} },
			`{"imageUri":"x"}`, "image x does not exist"),
		Entry("with a version that is not one", func() {}, `{"imageUri":7}`, "not an object with the fields imageURI"),
		Entry("without space", func() { w.free = 499 << 20 }, `{"imageUri":"x"}`, "needs 500 MiB (5 times its compressed size), 499 MiB are free"),
		Entry("without space for what it is unpacked", func() { w.unpacked, w.free = 320<<20, 711<<20 }, `{"imageUri":"x"}`,
			"needs 712 MiB (unpacked it has 320 MiB, and there are two of it while it is written), 711 MiB are free: use a smaller image"),
		Entry("without space for another recovery system", func() { w.recovery = osplugin.RecoverySpace{Known: true, Free: 49 << 20, Packed: true} },
			`{"imageUri":"x","upgradeRecovery":true}`, "needs at least 50 MiB beside the present one, 49 MiB are free: set osVersion.upgradeRecovery to false"),
		Entry("without space for another recovery system that is not compressed", func() { w.recovery = osplugin.RecoverySpace{Known: true, Free: 211 << 20} },
			`{"imageUri":"x","upgradeRecovery":true}`, "needs at least 213 MiB beside the present one, 211 MiB are free"),
		Entry("when the registry stays away", func() {
			for range 9 {
				w.resolve = append(w.resolve, errors.New("the registry is away"))
			}
		}, `{"imageUri":"x"}`, "the registry is away; gave up after 9 tries"),
		Entry("when the CLI fails thrice", func() {
			for range 3 {
				w.write = append(w.write, func() error { return errors.New("exit code 1: no") })
			}
		}, `{"imageUri":"x"}`, "writing the image failed (3 of 3): exit code 1: no"),
		Entry("when the CLI says it worked and did not", func() {
			for range 3 {
				w.write = append(w.write, func() error { w.link = 2; return nil })
			}
		}, `{"imageUri":"x"}`, "wrote no usable snapshot; is the state partition full? Its last output: Upgrade completed"),
	)

	DescribeTable("asks no more of the recovery partition than is needed there", func(recovery osplugin.RecoverySpace, version string) {
		w.recovery = recovery
		want := wanted("a1")
		want.OSVersionManagement = management(version)
		w.live(dir, want)
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
	},
		Entry("which the attempt leaves alone", osplugin.RecoverySpace{Known: true}, `{"imageUri":"x"}`),
		Entry("of which nothing is known", osplugin.RecoverySpace{}, `{"imageUri":"x","upgradeRecovery":true}`),
		Entry("which has just enough", osplugin.RecoverySpace{Known: true, Free: 50 << 20, Packed: true}, `{"imageUri":"x","upgradeRecovery":true}`),
		Entry("which has just enough uncompressed", osplugin.RecoverySpace{Known: true, Free: 200<<20 + 200<<20/16}, `{"imageUri":"x","upgradeRecovery":true}`),
	)

	It("ends before anything is downloaded when the image is not signed as is asked for", func() {
		want := wanted("a1")
		want.ImageVerification = signedBy("nobody")
		w.live(dir, want)
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", "it is not signed")))
		Expect(w.calls).NotTo(ContainElement("download"))
		Expect(w.snapshots).To(HaveLen(1))
	})

	It("looks again at an image that was fetched when somebody else has to have signed it by now", func() {
		want := wanted("a1")
		want.Apply, want.ImageVerification = false, signedBy(digestOf("2"))
		w.live(dir, want)
		w.live(dir, want)
		Expect(w.last().Phase).To(Equal(wire.PhaseFetched))
		Expect(w.did("verify")).To(Equal(1))

		want.Apply, want.ImageVerification = true, signedBy("nobody")
		w.live(dir, want)
		Expect(w.last().Phase).To(Equal(wire.PhaseFailed))
		Expect(w.snapshots).To(HaveLen(1))
	})

	It("goes on with an image that has passed when the trusted root cannot be had any more, and not by another root", func() {
		want := wanted("a1")
		want.Apply, want.ImageVerification = false, signedBy(digestOf("2"))
		want.ImageVerification.TrustedRoot = json.RawMessage(`{"mediaType":"one"}`)
		w.live(dir, want)
		Expect(w.last().Phase).To(Equal(wire.PhaseFetched))
		without := *want.ImageVerification
		without.TrustedRoot, without.TrustedRootError = nil, "there is no ConfigMap"
		want.ImageVerification = &without
		w.live(dir, want)
		Expect(w.did("verify")).To(Equal(1))

		other := without
		other.TrustedRoot, other.TrustedRootError = json.RawMessage(`{"mediaType":"other"}`), ""
		want.ImageVerification = &other
		w.live(dir, want)
		Expect(w.did("verify")).To(Equal(2))

		stricter := *signedBy("nobody")
		stricter.TrustedRootError = "there is no ConfigMap"
		want.ImageVerification = &stricter
		w.live(dir, want)
		Expect(w.last().Phase).To(Equal(wire.PhaseFailed))
	})

	It("tries again what may work the next time", func() {
		w.resolve = []error{errors.New("the registry is away"), errors.New("the registry is away")}
		w.write = []func() error{func() error { return errors.New("exit code 1") }}
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.did("clean")).To(Equal(2))
		Expect(w.last().Message).To(BeEmpty())
	})

	It("waits for a registry as long as it takes, while the host is no node yet", func() {
		w.idle = true
		for range 30 {
			w.resolve = append(w.resolve, errors.New("the registry is away"))
		}
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Message", BeEmpty())))
		Expect(w.phases()).NotTo(ContainElement(wire.PhaseFailed))
		Expect(w.reported).To(ContainElement(And(
			HaveField("Phase", wire.PhaseFetching), HaveField("Message", "the registry is away"))))
		longest := w.policy.Registry.Max
		rare := slices.DeleteFunc(w.clock.Slept(), func(d time.Duration) bool { return d < longest/2 })
		Expect(len(rare)).To(BeNumerically(">=", 20), "it is not asked more often again")
	})

	It("gives a registry up for good that says no, although the host is no node yet", func() {
		w.idle, w.resolve = true, []error{&image.Terminal{Message: "image x does not exist"}}
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFailed), HaveField("Message", "image x does not exist")))
	})

	It("judges what is written by what is there, not by the exit code", func() {
		w.write = []func() error{func() error {
			w.snapshots[2] = snap{digest: digestOf("2"), attempt: "a1", whole: true}
			w.link = 2
			return errors.New("exit code 1: hook failed")
		}}
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.did("upgrade")).To(Equal(1))
	})

	It("waits for the trigger, prepared", func() {
		want := wanted("a1")
		want.Apply = false
		w.live(dir, want)
		Expect(w.last().Phase).To(Equal(wire.PhaseFetched))
		Expect(w.downloaded).To(HaveKey(digestOf("2")))
		w.live(dir, wanted("a1"))
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		Expect(w.did("resolve")).To(Equal(1))
	})

	It("only looks, when prefetch is None, until it is triggered", func() {
		want := wanted("a1")
		want.Apply, want.Prefetch = false, "None"
		w.live(dir, want)
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFetched), HaveField("Digest", digestOf("2"))))
		Expect(w.downloaded).To(BeEmpty())
		want.Apply = true
		w.live(dir, want)
		Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
	})

	It("is prepared again when the rollout is pinned to another digest", func() {
		want := wanted("a1")
		want.Apply = false
		w.live(dir, want)
		want.Digest = digestOf("3")
		w.live(dir, want)
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseFetched), HaveField("Digest", digestOf("3"))))
		Expect(w.downloaded).To(HaveLen(1))
	})

	It("forgets a preparation that is withdrawn", func() {
		want := wanted("a1")
		want.Apply = false
		w.live(dir, want)
		w.live(dir, nil)
		Expect(w.downloaded).To(BeEmpty())
		Expect(filepath.Join(dir, upgrade.MarkerFile)).NotTo(BeAnExistingFile())
	})

	It("stops a download that is withdrawn", func() {
		withdrawn := make(chan struct{})
		w.resolve = []error{nil}
		machine := w.agent(dir)
		images := &blockingImages{world: w, started: make(chan struct{})}
		machine.Images = images
		ended := make(chan error, 1)
		go func() {
			ended <- machine.Advance(context.Background(), wanted("a1"), &upgrade.Interrupts{Withdrawn: withdrawn})
		}()
		Eventually(images.started).Should(BeClosed())
		close(withdrawn)
		Eventually(ended).Should(Receive(BeNil()))
		Expect(machine.Marker().Phase).To(Equal(wire.PhaseFetching))
	})

	It("says in its last report before the reboot that it goes on without the API", func() {
		marker := upgrade.Marker{Attempt: "a1", Phase: wire.PhaseRebooting}
		Expect(marker.Wire().Message).To(ContainSubstring("reports as soon as it reaches it again"))
		marker.Message = "choosing the next boot failed"
		Expect(marker.Wire().Message).To(Equal(marker.Message), "what is wrong is not hidden")
		marker.Phase, marker.Message = wire.PhaseAssessing, ""
		Expect(marker.Wire().Message).To(BeEmpty())
	})

	It("keeps facts about the host when its report is dropped", func() {
		w.live(dir, wanted("a1"))
		w.live(dir, nil)
		machine := w.agent(dir)
		Expect(machine.Marker()).To(Equal(upgrade.Marker{}))
		Expect(machine.ImageURI(digestOf("2"))).To(Equal("oci://r/os:2"))
		Expect(machine.FreeBytes()).To(BeEquivalentTo(8 << 30))
	})

	It("does not reboot a host that runs the image and is good", func() {
		w.snapshots[1] = snap{digest: digestOf("2"), whole: true}
		w.live(dir, wanted("a1"))
		Expect(w.last()).To(And(HaveField("Phase", wire.PhaseSucceeded), HaveField("Message", ContainSubstring("already"))))
		Expect(w.boots).To(Equal(1))
		Expect(w.did("download")).To(BeZero())
	})

	DescribeTable("when the host runs the image as a fallback",
		func(verdicts []assess.Verdict, first string, boots, written int) {
			w.snapshots[1] = snap{digest: digestOf("2"), whole: true}
			w.mode, w.verdicts = "passive", verdicts
			w.live(dir, wanted("a1"))
			Expect(w.calls).To(ContainElement(first))
			Expect(w.boots).To(Equal(boots))
			Expect(w.written).To(Equal(written))
			Expect(w.last().Phase).To(Equal(wire.PhaseSucceeded))
		},
		Entry("makes that the default", nil, "boot always 1", 1, 0),
		Entry("writes it again when that is not good", []assess.Verdict{bad}, "upgrade", 2, 1),
	)

	It("counts failures over restarts", func() {
		fail := func() error { return errors.New("exit code 1") }
		w.write = []func() error{fail, fail, fail, fail}
		for kill := 1; kill < 80; kill += 7 {
			w.killAt, w.killAfter = len(w.calls)+kill, true
			w.live(dir, wanted("a1"))
		}
		Expect(w.last().Phase).To(Equal(wire.PhaseFailed))
		Expect(w.boots).To(Equal(1))
	})

	It("says what is wrong with a damaged marker", func() {
		Expect(os.WriteFile(filepath.Join(dir, upgrade.MarkerFile), []byte("{"), 0o600)).To(Succeed())
		_, err := upgrade.New(upgrade.Options{WorkDir: dir, Reporter: w})
		Expect(err).To(MatchError(ContainSubstring(fmt.Sprintf("decoding %s/upgrade.json", dir))))
	})
})

// blockingImages never finish a download by themselves.
type blockingImages struct {
	*world
	started chan struct{}
}

func (b *blockingImages) Download(ctx context.Context, _ image.Image) error {
	close(b.started)
	<-ctx.Done()
	return ctx.Err()
}
