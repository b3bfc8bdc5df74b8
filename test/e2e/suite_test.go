// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/scheme"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

// Flags, with the names used in the suites of other providers.
var (
	configPath  string
	artifacts   string
	useLab      bool
	useNodes    bool
	skipCleanup bool
)

func init() {
	flag.StringVar(&configPath, "e2e.config", filepath.Join("config", "elemental.yaml"), "the suite's configuration")
	flag.StringVar(&artifacts, "e2e.artifacts-folder", "", "where logs and objects are written to (default: a temporary folder)")
	flag.BoolVar(&useLab, "e2e.use-lab", os.Getenv("E2E_LAB") == "true", "run on the lab instead of kind (default: E2E_LAB=true)")
	flag.BoolVar(&useNodes, "e2e.use-nodes", false, "run on real nodes in systemd-nspawn instead of kind")
	flag.BoolVar(&skipCleanup, "e2e.skip-resource-cleanup", false, "leave the clusters, and the kind cluster, behind")
}

var (
	// background is for what lasts as long as the suite, not only as long as the node that starts
	// it.
	background context.Context
	config     *clusterctl.E2EConfig
	// clusterctlConfig is the clusterctl configuration file with the local repository of the
	// release.
	clusterctlConfig string
	env              environment
	management       framework.ClusterProxy
)

func TestE2E(t *testing.T) {
	ctrl.SetLogger(klog.Background())
	specs.Run(t, "e2e")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var cancel context.CancelFunc
	background, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	artifacts = artifactsFolder()
	config = clusterctl.LoadE2EConfig(ctx, clusterctl.LoadE2EConfigInput{ConfigPath: configPath})

	switch {
	case useLab:
		env = &labs{}
	case useNodes:
		env = &nodes{}
	default:
		env = &kind{}
	}
	management = env.start(ctx)
	DeferCleanup(func(ctx SpecContext) { management.Dispose(ctx) })
})

// artifactsFolder is the configured folder, which is kept, or a temporary one.
func artifactsFolder() string {
	GinkgoHelper()
	folder := artifacts
	if folder == "" {
		folder = GinkgoT().TempDir()
	}
	folder, err := filepath.Abs(folder)
	Expect(err).NotTo(HaveOccurred())
	return folder
}

// newScheme has the kinds of the provider, and those that the framework uses.
func newScheme() *runtime.Scheme {
	made := scheme.New()
	framework.TryAddDefaultSchemes(made)
	return made
}

// writeRepository writes the local repository that clusterctl reads.
func writeRepository(ctx context.Context) {
	GinkgoHelper()
	clusterctlConfig = clusterctl.CreateRepository(ctx, clusterctl.CreateRepositoryInput{
		E2EConfig: config, RepositoryFolder: filepath.Join(artifacts, "repository"),
	})
}
