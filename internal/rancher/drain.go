// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
)

// Annotations of a plan secret, in the order in which they appear.
// Source: rancher/rancher, pkg/capr/common.go, pkg/capr/planner/drain.go, pkg/controllers/capr/machinedrain.
const (
	// DrainOptionsAnnotation is set by the planner, which asks for a drain. Its value is compared with those of all others.
	DrainOptionsAnnotation = "rke.cattle.io/drain-options"
	// PreDrainAnnotation asks the pre-drain hooks. The Node is cordoned then.
	PreDrainAnnotation = "rke.cattle.io/pre-drain"
	// DrainDoneAnnotation says that the Node is drained. The planner has the new plan applied then, Kubernetes with it.
	DrainDoneAnnotation = "rke.cattle.io/drain-done"
	// UncordonAnnotation is set by the planner when the plan is applied and the node is healthy.
	UncordonAnnotation = "rke.cattle.io/uncordon"
	// PostDrainAnnotation asks the post-drain hooks. The Node is uncordoned and all these annotations are removed when they have answered.
	PostDrainAnnotation = "rke.cattle.io/post-drain"
	// DrainErrorAnnotation is why the last try has failed.
	DrainErrorAnnotation = "rke.cattle.io/drain-error"
)

// FieldManager is Rancher's, of what it changes: its client has the default name, which is that of the program.
const FieldManager = "rancher"

// Drain is what Rancher asks for one Machine. The zero value is that no drain is asked for.
type Drain struct {
	// Secret that the answers are written to; nil if there is none.
	Secret *metav1.PartialObjectMetadata
	// Options are the token of the drain: answers have its value.
	Options string
	// Error that Rancher met at last, in its words.
	Error string
}

// Of reads the drain that a plan secret asks for.
func Of(secret *metav1.PartialObjectMetadata) Drain {
	return Drain{Secret: secret, Options: secret.Annotations[DrainOptionsAnnotation], Error: secret.Annotations[DrainErrorAnnotation]}
}

// IsAsked reports whether Rancher drains the Node: from before its cordon until it has uncordoned it.
func (d Drain) IsAsked() bool { return d.Options != "" }

// AsksBefore reports whether the pre-drain hooks are asked, or have answered.
func (d Drain) AsksBefore() bool { return d.is(PreDrainAnnotation) }

// AsksAfter reports whether the post-drain hooks are asked: the Node is drained, and Kubernetes upgraded.
func (d Drain) AsksAfter() bool { return d.is(PostDrainAnnotation) }

// IsDrained reports whether the Node is drained.
func (d Drain) IsDrained() bool { return d.is(DrainDoneAnnotation) }

// IsWithdrawn reports whether what the drain was asked for was reverted before the Node was drained. Rancher asks all hooks and drains
// the Node all the same.
func (d Drain) IsWithdrawn() bool {
	return d.isToUncordon() && !d.IsDrained()
}

// isToUncordon reports whether Rancher's planner wants the Node uncordoned after this drain. Of a former drain the annotation may be left.
func (d Drain) isToUncordon() bool { return d.is(UncordonAnnotation) }

// IsGivenUp reports whether this provider does nothing more in this drain: what it was asked for was reverted, or the answer that the Node may be
// uncordoned was given. After a reverted drain nothing else tells that it was. An answer that is left from a former drain does not count: Rancher
// wants the Node uncordoned at the end only.
func (d Drain) IsGivenUp() bool {
	return d.IsWithdrawn() || d.isToUncordon() && d.is(infrav1.RancherPostDrainAnnotation)
}

// Hooks says which of our two hooks Rancher asks in this drain. With one of them alone nothing can be upgraded: either the Node would
// be drained before its virtual machines have left it, or uncordoned while its host reboots.
func (d Drain) Hooks() (before, after bool) {
	type hook struct {
		Annotation string `json:"annotation"`
	}
	options := struct {
		PreDrainHooks  []hook `json:"preDrainHooks"`
		PostDrainHooks []hook `json:"postDrainHooks"`
	}{}
	if json.Unmarshal([]byte(d.Options), &options) != nil {
		return false, false
	}
	return slices.Contains(options.PreDrainHooks, hook{infrav1.RancherPreDrainAnnotation}),
		slices.Contains(options.PostDrainHooks, hook{infrav1.RancherPostDrainAnnotation})
}

// MayUpgrade reports whether a host may be upgraded in this drain: both our hooks are asked, and it is not given up.
func (d Drain) MayUpgrade() bool {
	before, after := d.Hooks()
	return before && after && d.AsksBefore() && !d.IsGivenUp()
}

func (d Drain) is(annotation string) bool {
	return d.IsAsked() && d.Secret.Annotations[annotation] == d.Options
}

// Answers are the annotations by which this provider answers.
type Answers struct {
	// Before says that the Node may be drained, and After that it may be uncordoned.
	Before, After bool
}

// Annotate returns what a plan secret is to have of our annotations; empty is none. An answer is given when it is asked for, or for good with that to a
// drain that was reverted. It stands for this drain only: the next one may have the same token, and would be answered by what is left of this one.
func (d Drain) Annotate(answers Answers) map[string]string {
	wanted := map[string]string{infrav1.RancherPreDrainAnnotation: "", infrav1.RancherPostDrainAnnotation: ""}
	if answers.Before && d.AsksBefore() {
		wanted[infrav1.RancherPreDrainAnnotation] = d.Options
	}
	if answers.After && (d.AsksAfter() || d.IsGivenUp()) {
		wanted[infrav1.RancherPostDrainAnnotation] = d.Options
	}
	return wanted
}
