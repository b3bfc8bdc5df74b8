// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/attempts"
)

// attempt that was made some minutes after others, and has entered steps.
func attempt(name string, minutes int, phase infrav1.UpgradePhase, steps ...string) infrav1.ElementalHostUpgrade {
	made := infrav1.ElementalHostUpgrade{}
	made.Name, made.CreationTimestamp = name, metav1.NewTime(time.Unix(0, 0).Add(time.Duration(minutes)*time.Minute))
	made.Status.Phase = phase
	for _, step := range steps {
		made.Status.Steps = append(made.Status.Steps, infrav1.UpgradeStepStatus{Name: step})
	}
	return made
}

var _ = DescribeTable("The last attempt that has changed what a host runs is", func(expected string, made ...infrav1.ElementalHostUpgrade) {
	last := lastAtWork(made)
	if expected == "" {
		Expect(last).To(BeNil())
		return
	}
	Expect(last).To(HaveField("Name", expected))
},
	Entry("none where there is none", ""),
	Entry("the newest of those that have ended", "b", attempt("b", 2, infrav1.UpgradeRolledBack), attempt("a", 1, infrav1.UpgradeSucceeded)),
	Entry("one that has succeeded after a roll-back", "b", attempt("a", 1, infrav1.UpgradeRolledBack), attempt("b", 2, infrav1.UpgradeSucceeded)),
	Entry("not one that failed before it was triggered", "a", attempt("a", 1, infrav1.UpgradeRolledBack), attempt("b", 2, infrav1.UpgradeFailed, "Preflight")),
	Entry("one that failed after it was", "b", attempt("a", 1, infrav1.UpgradeSucceeded), attempt("b", 2, infrav1.UpgradeFailed, attempts.StepReboot)),
	Entry("not one that was aborted before", "a", attempt("a", 1, infrav1.UpgradeRolledBack), attempt("b", 2, infrav1.UpgradeAborted)),
	Entry("one whose host was lost", "b", attempt("a", 1, infrav1.UpgradeRolledBack), attempt("b", 2, infrav1.UpgradeHostLost, attempts.StepReboot)),
)

var _ = DescribeTable("A host says of its last upgrade", func(phase infrav1.UpgradePhase, change func(*infrav1.ElementalHost), expected ...string) {
	host, last := &infrav1.ElementalHost{}, attempt("a1", 1, phase)
	host.Labels = map[string]string{}
	change(host)
	id, outcome := lastFailure(host, &last)
	Expect([]string{id, outcome}).To(Equal(append(expected, "", "")[:2]))
},
	Entry("that it fell back", infrav1.UpgradeRolledBack, func(*infrav1.ElementalHost) {}, "a1", infrav1.InPlaceUpgradeRolledBack),
	Entry("that it failed", infrav1.UpgradeFailed, func(*infrav1.ElementalHost) {}, "a1", infrav1.InPlaceUpgradeFailed),
	Entry("nothing if it succeeded", infrav1.UpgradeSucceeded, func(*infrav1.ElementalHost) {}),
	Entry("nothing if it was superseded", infrav1.UpgradeSuperseded, func(*infrav1.ElementalHost) {}),
	Entry("nothing once the next one is requested", infrav1.UpgradeRolledBack, func(h *infrav1.ElementalHost) {
		h.Spec.Upgrade = &infrav1.HostUpgradeRequest{Attempt: "a2"}
	}),
	Entry("nothing once a user has triggered it again", infrav1.UpgradeRolledBack, func(h *infrav1.ElementalHost) {
		h.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradePending
	}),
	Entry("how a run by hand has ended since", infrav1.UpgradeRolledBack, func(h *infrav1.ElementalHost) {
		h.Labels[infrav1.InPlaceUpgradeLabel] = infrav1.InPlaceUpgradeFailed
		h.Annotations = map[string]string{infrav1.LastAttemptAnnotation: "manual-1=failed@sha256:2"}
	}, "manual-1", infrav1.InPlaceUpgradeFailed),
	Entry("nothing of a run by hand before it", infrav1.UpgradeRolledBack, func(h *infrav1.ElementalHost) {
		h.Annotations = map[string]string{infrav1.LastAttemptAnnotation: "manual-1=failed@sha256:2"}
	}, "a1", infrav1.InPlaceUpgradeRolledBack),
)
