// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package existing_test

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/existing"
)

var _ = It("A kind that is gone since it was mapped is none, and another error is one", func() {
	gone := apierrors.NewNotFound(schema.GroupResource{Group: "upgrade.cattle.io", Resource: "plans"}, "")
	Expect(existing.UnlessAbsent(gone, "listing Plans")).To(Succeed())
	Expect(existing.UnlessAbsent(&meta.NoKindMatchError{}, "listing Plans")).To(Succeed())
	Expect(existing.UnlessAbsent(errors.New("no answer"), "listing Plans")).To(MatchError("listing Plans: no answer"))
})
