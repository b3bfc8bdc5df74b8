// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// edit makes one thing about a host so.
type edit func(*infrav1.ElementalHost)

// hostWith is an approved host that has reported image 1.
func hostWith(edits ...edit) *infrav1.ElementalHost {
	host := &infrav1.ElementalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "m-1", Labels: map[string]string{}},
		Spec:       infrav1.ElementalHostSpec{Approved: true},
		Status:     infrav1.ElementalHostStatus{OS: infrav1.HostOS{ImageURI: "oci://r/os:1", BootID: "b-1"}},
	}
	for _, one := range edits {
		one(host)
	}
	return host
}

func image(uri string) infrav1.OSVersionManagement {
	return osversion.OfImage(uri)
}

func label(key, value string) edit {
	return func(h *infrav1.ElementalHost) { h.Labels[key] = value }
}

func wants(uri string) edit {
	return func(h *infrav1.ElementalHost) { h.Spec.OSVersionManagement = image(uri) }
}

func serves(h *infrav1.ElementalHost) {
	h.Spec.BootstrapSecret = &infrav1.SecretReference{Name: "boot"}
}

func attempt(id string) edit {
	return func(h *infrav1.ElementalHost) {
		h.Spec.Upgrade = &infrav1.HostUpgradeRequest{
			Attempt: id, Digest: "sha256:2", Prefetch: "Download", OSVersionManagement: image("oci://r/os:2"),
		}
	}
}

// triggered is an attempt whose trigger is for a boot, on a host that is in the boot b-1 of the image sha256:1.
func triggered(id string, boot *infrav1.HostBoot) edit {
	return func(h *infrav1.ElementalHost) {
		attempt(id)(h)
		pending(h)
		h.Spec.Upgrade.TriggeredFor = boot
		h.Status.OS = infrav1.HostOS{BootID: "b-1", Digest: "sha256:1"}
	}
}

func reported(id string, phase infrav1.HostUpgradePhase) edit {
	return func(h *infrav1.ElementalHost) {
		h.Status.Upgrade = &infrav1.HostUpgradeStatus{Attempt: id, Phase: phase}
	}
}

func lastAttempt(outcome string) edit {
	return func(h *infrav1.ElementalHost) {
		h.Annotations = map[string]string{infrav1.LastAttemptAnnotation: outcome}
	}
}

func asked(uri string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"osVersion": json.RawMessage(`{"imageUri":"` + uri + `"}`)}
}

var (
	bootstrapped = label(infrav1.BootstrappedLabel, "true")
	pending      = label(infrav1.InPlaceUpgradeLabel, infrav1.InPlaceUpgradePending)
	hash2        = osversion.Hash(image("oci://r/os:2"))
	managed      = wire.Upgrade{Attempt: "a-1", Digest: "sha256:2", Prefetch: "Download", OSVersionManagement: asked("oci://r/os:2")}
	thisBoot     = &infrav1.HostBoot{BootID: "b-1", Digest: "sha256:1"}
	managedApply = wire.Upgrade{Attempt: "a-1", Apply: true, ApplyIn: &wire.Boot{BootID: "b-1", Digest: "sha256:1"}, Digest: "sha256:2", Prefetch: "Download", OSVersionManagement: asked("oci://r/os:2")}
	manual       = wire.Upgrade{Attempt: "manual-" + hash2 + "-1", Apply: true, OSVersionManagement: asked("oci://r/os:2")}
	signedFor    = &infrav1.ImageVerification{Unmatched: "Accept", Rules: []infrav1.ImageVerificationRule{{Prefix: "r", PublicKeys: []string{"key"}}}}
	signedBy     = &wire.ImageVerification{Unmatched: "Accept", Rules: []wire.ImageVerificationRule{{Prefix: "r", PublicKeys: []string{"key"}}}}
	idleUpgrade  = wire.Upgrade{Attempt: "idle-" + hash2, Apply: true, OSVersionManagement: asked("oci://r/os:2")}
)

var _ = DescribeTable("What is desired of a host",
	func(want wire.Desired, edits ...edit) {
		desired := hostapi.Desired(hostWith(edits...))
		Expect(desired.Revision).To(HaveLen(16))
		desired.Revision = ""
		Expect(desired).To(Equal(want))
	},
	Entry("nothing", wire.Desired{Approved: true}),
	Entry("nothing while it is not approved", wire.Desired{}, edit(func(h *infrav1.ElementalHost) { h.Spec.Approved = false })),

	Entry("reset", wire.Desired{Approved: true, Reset: true}, label(infrav1.NeedsResetLabel, "true")),
	Entry("no reset where the label says no", wire.Desired{Approved: true}, label(infrav1.NeedsResetLabel, "false")),
	Entry("no second reset", wire.Desired{Approved: true}, label(infrav1.NeedsResetLabel, "true"), label(infrav1.ResetLabel, "true")),

	Entry("bootstrap", wire.Desired{Approved: true, Bootstrap: true}, edit(serves)),
	Entry("no bootstrap of what is not approved", wire.Desired{}, edit(serves), edit(func(h *infrav1.ElementalHost) { h.Spec.Approved = false })),
	Entry("no second bootstrap", wire.Desired{Approved: true}, edit(serves), bootstrapped),
	Entry("no second bootstrap, as the host says", wire.Desired{Approved: true}, edit(serves), edit(func(h *infrav1.ElementalHost) { h.Status.Bootstrapped = true })),
	Entry("no bootstrap of what is reset", wire.Desired{Approved: true, Reset: true}, edit(serves), label(infrav1.NeedsResetLabel, "true")),

	Entry("an attempt, prepared", wire.Desired{Approved: true, Upgrade: &managed}, attempt("a-1"), bootstrapped),
	Entry("an attempt, triggered", wire.Desired{Approved: true, Upgrade: &managedApply}, bootstrapped, triggered("a-1", thisBoot)),
	Entry("an attempt, triggered in an earlier boot", wire.Desired{Approved: true, Upgrade: &managed}, bootstrapped,
		triggered("a-1", &infrav1.HostBoot{BootID: "b-0", Digest: "sha256:1"})),
	Entry("an attempt, triggered for another image", wire.Desired{Approved: true, Upgrade: &managed}, bootstrapped,
		triggered("a-1", &infrav1.HostBoot{BootID: "b-1"})),
	Entry("an attempt, triggered by a manager that names no boot", wire.Desired{Approved: true, Upgrade: &managed}, bootstrapped, triggered("a-1", nil)),
	Entry("an attempt, with an image that has to be signed as the attempt says", wire.Desired{Approved: true, Upgrade: &wire.Upgrade{
		Attempt: "a-1", Digest: "sha256:2", Prefetch: "Download", ImageVerification: signedBy, OSVersionManagement: asked("oci://r/os:2"),
	}}, attempt("a-1"), bootstrapped, edit(func(h *infrav1.ElementalHost) {
		h.Spec.Upgrade.ImageVerification = signedFor
		h.Spec.ImageVerification = &infrav1.ImageVerification{}
	})),
	Entry("an attempt of its own, with an image that has to be signed as the host says", wire.Desired{Approved: true, Upgrade: &wire.Upgrade{
		Attempt: manual.Attempt, Apply: true, ImageVerification: signedBy, OSVersionManagement: manual.OSVersionManagement,
	}}, wants("oci://r/os:2"), bootstrapped, pending, edit(func(h *infrav1.ElementalHost) { h.Spec.ImageVerification = signedFor })),
	Entry("an attempt, which no person's trigger in the predecessor's spelling sets off", wire.Desired{Approved: true, Upgrade: &managed},
		attempt("a-1"), bootstrapped, label(infrav1.InPlaceUpdateLabel, "pending")),
	Entry("an attempt, ended", wire.Desired{Approved: true, Upgrade: &managed},
		attempt("a-1"), bootstrapped, label(infrav1.InPlaceUpgradeLabel, infrav1.InPlaceUpgradeDone)),
	Entry("an attempt owns the trigger", wire.Desired{Approved: true, Upgrade: &managedApply}, wants("oci://r/os:3"), bootstrapped, triggered("a-1", thisBoot)),
	Entry("an attempt before the bootstrap", wire.Desired{Approved: true, Upgrade: &managed}, attempt("a-1"), edit(serves)),
	Entry("the bootstrap after an attempt", wire.Desired{Approved: true, Bootstrap: true, Upgrade: &managed},
		attempt("a-1"), edit(serves), reported("a-1", infrav1.HostUpgradeSucceeded)),
	Entry("no bootstrap for another attempt's success", wire.Desired{Approved: true, Upgrade: &managed},
		attempt("a-1"), edit(serves), reported("a-0", infrav1.HostUpgradeSucceeded)),

	Entry("a person's upgrade", wire.Desired{Approved: true, Upgrade: &manual}, wants("oci://r/os:2"), bootstrapped, pending),
	Entry("nothing on a person's trigger without an image", wire.Desired{Approved: true}, bootstrapped, pending),
	Entry("no upgrade of a bootstrapped host without a trigger", wire.Desired{Approved: true}, wants("oci://r/os:2"), bootstrapped),
	Entry("no upgrade of a host that says it is bootstrapped", wire.Desired{Approved: true},
		wants("oci://r/os:2"), edit(func(h *infrav1.ElementalHost) { h.Status.Bootstrapped = true })),
	Entry("no person's upgrade on the way out", wire.Desired{Approved: true, Reset: true},
		wants("oci://r/os:2"), bootstrapped, pending, label(infrav1.NeedsResetLabel, "true")),

	Entry("an idle host's upgrade", wire.Desired{Approved: true, Upgrade: &idleUpgrade}, wants("oci://r/os:2")),
	Entry("an idle host's upgrade before its bootstrap", wire.Desired{Approved: true, Upgrade: &idleUpgrade}, wants("oci://r/os:2"), edit(serves)),
	Entry("no bootstrap on the OS that an upgrade failed to replace", wire.Desired{Approved: true, Upgrade: &idleUpgrade},
		wants("oci://r/os:2"), edit(serves), reported("idle-"+hash2, infrav1.HostUpgradeRolledBack)),
	Entry("nothing that an idle host would try by itself after a person's trigger failed", wire.Desired{Approved: true, Upgrade: &manual},
		wants("oci://r/os:2"), edit(serves), lastAttempt(manual.Attempt+"=rolled-back@sha256:2")),
	Entry("an idle host's upgrade to another image than a person's trigger failed for", wire.Desired{Approved: true, Upgrade: &idleUpgrade},
		wants("oci://r/os:2"), lastAttempt("manual-"+osversion.Hash(image("oci://r/os:3"))+"-1=failed@")),
	Entry("bootstrap once a person's trigger has succeeded", wire.Desired{Approved: true, Bootstrap: true},
		wants("r/os:1"), edit(serves), lastAttempt("manual-"+osversion.Hash(image("r/os:1"))+"-1=done@sha256:1")),
	Entry("bootstrap once it runs the image", wire.Desired{Approved: true, Bootstrap: true}, wants("r/os:1"), edit(serves)),
	Entry("bootstrap once it says so, whatever it calls the image", wire.Desired{Approved: true, Bootstrap: true},
		wants("oci://r/os:2"), edit(serves), reported("idle-"+hash2, infrav1.HostUpgradeSucceeded)),
	Entry("a report of a host that has not said what it runs, and nothing else", wire.Desired{Approved: true, Unreported: true},
		wants("oci://r/os:2"), edit(func(h *infrav1.ElementalHost) { h.Status.OS = infrav1.HostOS{} })),
	Entry("nothing where no image is asked for", wire.Desired{Approved: true},
		edit(func(h *infrav1.ElementalHost) {
			h.Spec.OSVersionManagement = infrav1.OSVersionManagement{Plugins: map[string]runtime.RawExtension{"other": {Raw: []byte(`{}`)}}}
		})),
	Entry("nothing where the image is not readable", wire.Desired{Approved: true},
		edit(func(h *infrav1.ElementalHost) {
			h.Spec.OSVersionManagement = specs.OS(`3`)
		})),
)

var _ = Describe("The revision of what is desired", func() {
	revision := func(edits ...edit) string { return hostapi.Desired(hostWith(edits...)).Revision }

	It("is the same for what means the same to the host", func() {
		Expect(revision(label("rack", "r1"), edit(func(h *infrav1.ElementalHost) {
			h.ResourceVersion, h.Status.Message = "7", "busy"
		}))).To(Equal(revision()))
	})

	It("differs with everything that is asked", func() {
		seen := map[string]bool{}
		for _, one := range []string{
			revision(), revision(serves), revision(label(infrav1.NeedsResetLabel, "true")), revision(wants("oci://r/os:2")),
			revision(wants("oci://r/os:3")), revision(attempt("a-1")), revision(attempt("a-2")), revision(triggered("a-1", thisBoot)),
			revision(func(h *infrav1.ElementalHost) { h.Spec.Approved = false }),
			revision(attempt("a-1"), func(h *infrav1.ElementalHost) { h.Spec.Upgrade.Digest = "" }),
		} {
			Expect(seen).NotTo(HaveKey(one))
			seen[one] = true
		}
	})

	It("does not fail on JSON that is none", func() {
		broken := func(h *infrav1.ElementalHost) {
			h.Spec.Upgrade = &infrav1.HostUpgradeRequest{
				Attempt: "a-1", OSVersionManagement: infrav1.OSVersionManagement{Plugins: map[string]runtime.RawExtension{"x": {Raw: []byte(`{`)}}},
			}
		}
		Expect(revision(broken)).To(HaveLen(16))
	})
})
