// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/clusterview"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/preflight/outlook"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/webhooks/request"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/apiserver"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

func TestRequest(t *testing.T) {
	specs.Run(t, "Upgrade Request Suite")
}

var (
	server *apiserver.Server
	// live reads and writes the API server, which is management and workload cluster in one.
	live client.Client
	// person is somebody who may do everything, and is told warnings.
	person    *apiserver.Person
	connector *switchable
	closed    closedNamespaces
)

// closedNamespaces says which namespaces have not opted in, and why.
type closedNamespaces map[string]string

func (c closedNamespaces) NotOptedIn(_ context.Context, namespace string) (string, error) {
	return c[namespace], nil
}

// switchable connects to the API server of the suite.
type switchable struct {
	// err is what is met instead, and hangs that nobody answers.
	err   error
	hangs bool
}

func (s *switchable) Connect(ctx context.Context, _ client.ObjectKey) (*workload.Cluster, error) {
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return workload.New(live, live), s.err
}

var _ = BeforeSuite(func() {
	server = apiserver.StartForSuite(apiserver.PreflightWebhooks)
	live = apiserver.NewIndexed(server.Client, clusterview.AddIndexes)
	mgr := server.NewManager()
	connector, closed = &switchable{}, closedNamespaces{}
	validator := &request.Validator{
		Client:  live,
		Outlook: &outlook.Viewer{Client: live, Workload: connector, Namespaces: closed, Now: time.Now},
	}
	Expect(validator.SetupWithManager(mgr)).To(Succeed())
	Expect((&request.UpgradeValidator{Templates: validator}).SetupWithManager(mgr)).To(Succeed())
	server.Run(mgr)
	person = server.NewPerson()
})
