// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

const (
	options = rancher.DrainOptionsAnnotation
	before  = rancher.PreDrainAnnotation
	done    = rancher.DrainDoneAnnotation
	back    = rancher.UncordonAnnotation
	after   = rancher.PostDrainAnnotation

	pre  = infrav1.RancherPreDrainAnnotation
	post = infrav1.RancherPostDrainAnnotation
)

type annotations = map[string]string

// secret is the metadata of a plan secret.
func secret(annotations annotations) *metav1.PartialObjectMetadata {
	found := rancher.NewSecret()
	found.Annotations = annotations
	return found
}

// state of a drain, as others ask for it.
type state struct{ Asked, Before, Drained, Withdrawn, After bool }

var _ = DescribeTable("Of a plan secret", func(annotations annotations, expected state) {
	drain := rancher.Of(secret(annotations))
	Expect(state{drain.IsAsked(), drain.AsksBefore(), drain.IsDrained(), drain.IsWithdrawn(), drain.AsksAfter()}).To(Equal(expected))
},
	Entry("without annotations", nil, state{}),
	Entry("without a drain, whatever else is left", annotations{before: "", done: "", after: "", back: "true"}, state{}),
	Entry("with answers that are left", annotations{pre: "T", post: "T"}, state{}),
	Entry("whose drain is asked for", annotations{options: "T"}, state{Asked: true}),
	Entry("whose Node is cordoned", annotations{options: "T", before: "T"}, state{Asked: true, Before: true}),
	Entry("whose Node is drained", annotations{options: "T", before: "T", done: "T"}, state{Asked: true, Before: true, Drained: true}),
	Entry("whose plan is applied", annotations{options: "T", before: "T", done: "T", back: "T"}, state{Asked: true, Before: true, Drained: true}),
	Entry("whose Node is to be uncordoned", annotations{options: "T", before: "T", done: "T", back: "T", after: "T"},
		state{Asked: true, Before: true, Drained: true, After: true}),
	Entry("whose drain is reverted", annotations{options: "T", before: "T", back: "T"}, state{Asked: true, Before: true, Withdrawn: true}),
	Entry("whose drain is reverted before its Node is cordoned", annotations{options: "T", back: "T"}, state{Asked: true, Withdrawn: true}),
	Entry("whose options were changed", annotations{options: "T", before: "U", done: "U", after: "U"}, state{Asked: true}),
	Entry("whose options were changed when it was drained", annotations{options: "T", before: "T", done: "U", back: "U"},
		state{Asked: true, Before: true}),
)

var _ = It("Of a plan secret, Rancher's error is read in its words", func() {
	found := rancher.Of(secret(annotations{options: "T", rancher.DrainErrorAnnotation: "refused"}))
	Expect(found).To(And(HaveField("Options", "T"), HaveField("Error", "refused")))
})

var _ = It("No drain is asked for without a plan secret", func() {
	none := rancher.Drain{}
	Expect(state{none.IsAsked(), none.AsksBefore(), none.IsDrained(), none.IsWithdrawn(), none.AsksAfter()}).To(Equal(state{}))
	Expect(none.Annotate(rancher.Answers{Before: true, After: true})).To(Equal(annotations{pre: "", post: ""}))
})

var _ = DescribeTable("A host may be upgraded in a drain", func(asked annotations, expected bool) {
	asked[rancher.DrainOptionsAnnotation] = asked["token"]
	Expect(rancher.Of(secret(asked)).MayUpgrade()).To(Equal(expected))
},
	Entry("that asks both hooks", annotations{"token": hooked, before: hooked}, true),
	Entry("not before they are asked", annotations{"token": hooked}, false),
	Entry("not if one of them is not listed", annotations{"token": onlyAfter, before: onlyAfter}, false),
	Entry("not by options that nobody can read", annotations{"token": "enabled", before: "enabled"}, false),
	Entry("not if it was reverted", annotations{"token": hooked, before: hooked, back: hooked}, false),
	Entry("not if it was reverted, and then drained all the same", annotations{"token": hooked, before: hooked, done: hooked, back: hooked, post: hooked}, false),
	Entry("whatever is left of a former one", annotations{"token": hooked, before: hooked, back: "U", post: hooked}, true),
	Entry("not without one", annotations{}, false),
)

const (
	onlyAfter = `{"postDrainHooks":[{"annotation":"` + post + `"}]}`
	hooked    = `{"preDrainHooks":[{"annotation":"x"},{"annotation":"` + pre + `"}],"postDrainHooks":[{"annotation":"` + post + `"}]}`
)

var _ = DescribeTable("The answers to a drain", func(asked annotations, answers rancher.Answers, expectedPre, expectedPost string) {
	Expect(rancher.Of(secret(asked)).Annotate(answers)).To(Equal(annotations{pre: expectedPre, post: expectedPost}))
},
	Entry("are given by its token", annotations{options: "T", before: "T", after: "T"}, both, "T", "T"),
	Entry("are given one by one", annotations{options: "T", before: "T", after: "T"}, rancher.Answers{Before: true}, "T", ""),
	Entry("are given one without the other", annotations{options: "T", before: "T", after: "T"}, rancher.Answers{After: true}, "", "T"),
	Entry("are not given to what is not asked", annotations{options: "T"}, both, "", ""),
	Entry("are given to the first that is asked", annotations{options: "T", before: "T"}, both, "T", ""),
	Entry("are not given to the former drain", annotations{options: "T", before: "U", after: "U"}, both, "", ""),
	Entry("are taken back with the drain", annotations{before: "T", after: "T", pre: "T", post: "T"}, both, "", ""),
	Entry("are taken back", annotations{options: "T", before: "T", after: "T", pre: "T", post: "T"}, rancher.Answers{}, "", ""),
)

var both = rancher.Answers{Before: true, After: true}
