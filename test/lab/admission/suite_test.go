// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/scheme"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	watched = "watched"
	another = "another"
)

// The suite has one API server, with an audit log.
var (
	cluster *kube.Cluster
	clients map[string]client.Client
)

func TestAdmission(t *testing.T) {
	specs.Run(t, "Admission")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	cluster, err = kube.Start(ctx, kube.Options{Name: "guarded", Dir: GinkgoT().TempDir(), Binaries: filepath.Join(specs.Root(), "bin", "tools")})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	clients = map[string]client.Client{}
	for _, user := range []string{watched, another} {
		config, err := cluster.RESTConfig(user)
		Expect(err).NotTo(HaveOccurred())
		clients[user], err = client.New(config, client.Options{Scheme: scheme.New()})
		Expect(err).NotTo(HaveOccurred())
	}
})
