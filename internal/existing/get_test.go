// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package existing_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

// answer of an API server, which counts how often it is asked.
type answer struct {
	client.Reader
	err   error
	asked int
}

func (a *answer) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	a.asked++
	object.SetName(key.Name)
	return a.err
}

var errDown = errors.New("connection refused")

var _ = DescribeTable("Get", func(ctx SpecContext, name string, answers error, isThere bool, says string, asked int) {
	api := &answer{err: answers}
	node, err := existing.Get(ctx, api, &corev1.Node{}, "ns", name)
	Expect(api.asked).To(Equal(asked))
	if says != "" {
		Expect(err).To(And(MatchError(answers), MatchError(says)))
		Expect(node).To(BeNil())
		return
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(node != nil).To(Equal(isThere))
	if isThere {
		Expect(node.Name).To(Equal(name))
	}
},
	Entry("one that is there", "a", nil, true, "", 1),
	Entry("one that is not", "a", apierrors.NewNotFound(schema.GroupResource{}, "a"), false, "", 1),
	Entry("one that cannot be read", "a", errDown, false, "reading *v1.Node ns/a: connection refused", 1),
	Entry("one without a name", "", errDown, false, "", 0),
)
