// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/hooks"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/inplace"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/owner"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

var (
	ctx   = context.Background()
	plane *apiserver.Server
	c     client.Client
)

func TestHooks(t *testing.T) {
	specs.Run(t, "Hooks")
}

var _ = BeforeSuite(func() {
	plane = apiserver.StartForSuite()
	c = apiserver.NewIndexed(plane.Client, clusterview.AddIndexes)
	registerExtension()
})

// registerExtension makes our ExtensionConfig, as Cluster API leaves it once it is discovered.
func registerExtension() {
	GinkgoHelper()
	config := &runtimev1.ExtensionConfig{ObjectMeta: metav1.ObjectMeta{Name: "elemental"}}
	config.Spec.ClientConfig.URL = "https://127.0.0.1:1"
	config.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: optIn}
	plane.Create(ctx, config)
	for name, hook := range map[string]string{
		inplace.CanUpdateMachineHandler: "CanUpdateMachine", inplace.CanUpdateMachineSetHandler: "CanUpdateMachineSet", inplace.UpdateMachineHandler: "UpdateMachine",
	} {
		config.Status.Handlers = append(config.Status.Handlers, runtimev1.ExtensionHandler{
			Name: name + "." + config.Name, TimeoutSeconds: 10, FailurePolicy: runtimev1.FailurePolicyFail,
			RequestHook: runtimev1.GroupVersionHook{APIVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", Hook: hook},
		})
	}
	Expect(c.Status().Update(ctx, config)).To(Succeed())
}

// optIn is what makes a namespace one that our ExtensionConfig selects.
var optIn = map[string]string{infrav1.ExtensionNamespaceLabel: infrav1.ExtensionNamespaceEnabled}

// newHandlers answer from the API server itself; what they tell owners can be read from the recorder.
func newHandlers() (*hooks.Handlers, *events.FakeRecorder) {
	recorder := events.NewFakeRecorder(100)
	return &hooks.Handlers{
		Client: c, Live: c,
		Namespaces: &inplace.Prover{Live: c},
		Owners:     &owner.Owners{Client: c, Live: c, Clock: clock.RealClock{}},
		Recorder:   recorder,
	}, recorder
}
