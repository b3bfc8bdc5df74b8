// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/controllers/registration"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestRegistration(t *testing.T) {
	specs.Run(t, "ElementalRegistration Controller Suite")
}

const (
	endpoint = "elemental.example.com:9090"
	// watchFilter labels what the running manager reconciles.
	watchFilter = "tested"
)

var (
	server *apiserver.Server
	// reconciler that the manager runs; a spec that needs another calls a copy of it, on an object without the watch filter.
	reconciler *registration.Reconciler
	clock      *clocktesting.FakePassiveClock
)

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultConsistentlyDuration(time.Second)
	server = apiserver.StartForSuite()
	mgr := server.NewManager()
	clock = clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second))
	reconciler = &registration.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Endpoint: endpoint, CACert: func() (string, error) { return "pem", nil }, Clock: clock,
		WatchFilterValue: watchFilter,
	}
	Expect(reconciler.SetupWithManager(ctx, mgr, controller.Options{})).To(Succeed())
	server.Run(mgr)
})
