// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/hooks"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
)

var (
	ctx   = context.Background()
	plane *apiserver.Server
	c     client.Client
	count atomic.Int64
)

func TestHooks(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Hooks")
}

var _ = BeforeSuite(func() {
	plane = apiserver.StartForSuite()
	c = plane.Client
})

// newHandlers answer from the API server itself; what they tell owners can be read from the recorder.
func newHandlers() (*hooks.Handlers, *events.FakeRecorder) {
	recorder := events.NewFakeRecorder(100)
	return &hooks.Handlers{
		Client:   c,
		Owners:   &owner.Owners{Client: c, Live: c, Clock: clock.RealClock{}},
		Recorder: recorder,
	}, recorder
}

func newNamespace() string {
	name := fmt.Sprintf("hooks-%d", count.Add(1))
	Expect(c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	return name
}

func create(objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(c.Create(ctx, object)).To(Succeed())
	}
}
