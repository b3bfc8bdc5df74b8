// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/rancher"
)

type (
	created = event.TypedCreateEvent[*metav1.PartialObjectMetadata]
	updated = event.TypedUpdateEvent[*metav1.PartialObjectMetadata]
	deleted = event.TypedDeleteEvent[*metav1.PartialObjectMetadata]
)

var _ = DescribeTable("A plan secret that was written", func(old, now annotations, isPassed bool) {
	formerly, since := secret(old), secret(now)
	formerly.ResourceVersion, since.ResourceVersion = "1", "2"
	Expect(rancher.Changed().Update(updated{ObjectOld: formerly, ObjectNew: since})).To(Equal(isPassed))
},
	Entry("by Rancher's agent, of nothing that is read here", annotations{}, annotations{}, false),
	Entry("with annotations of others", annotations{"a": "1", "b": "1"}, annotations{"a": "2", "c": "1"}, false),
	Entry("with annotations of others, in a drain", annotations{options: "T", "a": "1"}, annotations{options: "T"}, false),
	Entry("with a drain", annotations{}, annotations{options: "T"}, true),
	Entry("with a drain that goes on", annotations{options: "T"}, annotations{options: "T", before: "T"}, true),
	Entry("with another drain", annotations{options: "T"}, annotations{options: "U"}, true),
	Entry("without its drain", annotations{options: "T"}, annotations{}, true),
	Entry("as drained", annotations{options: "T"}, annotations{options: "T", done: "T"}, true),
	Entry("as to be uncordoned", annotations{options: "T"}, annotations{options: "T", back: "true"}, true),
	Entry("as to be answered", annotations{options: "T"}, annotations{options: "T", after: "T"}, true),
	Entry("with an error", annotations{options: "T"}, annotations{options: "T", rancher.DrainErrorAnnotation: "refused"}, true),
	Entry("without an answer that was given", annotations{options: "T", pre: "T"}, annotations{options: "T"}, true),
	Entry("with an answer that nobody gave", annotations{}, annotations{post: "T"}, true),
)

var _ = It("A plan secret is looked at when it is found with a drain, or with an answer that is left", func() {
	changed := rancher.Changed()
	Expect(changed.Create(created{Object: secret(annotations{"a": "1"})})).To(BeFalse())
	Expect(changed.Create(created{Object: secret(annotations{options: "T"})})).To(BeTrue())
	Expect(changed.Create(created{Object: secret(annotations{pre: "T"})})).To(BeTrue())
	Expect(changed.Delete(deleted{Object: secret(annotations{options: "T"})})).To(BeFalse())
})
