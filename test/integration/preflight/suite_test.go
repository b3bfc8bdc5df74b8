// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/storage"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/repository"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	// patience is the timeout for what has to happen soon, calm is how long something must not
	// happen.
	patience = specs.Patience
	calm     = 5 * time.Second
	look     = 500 * time.Millisecond
)

// The suite has one cluster with two workers, and the third-party components that are installed on
// it.
var (
	cluster     *scenario.Cluster
	first, last string
	volumes     *storage.Longhorn
)

func TestPreflight(t *testing.T) {
	specs.Run(t, "Preflight")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	cluster = suite.NewCluster(ctx, suite.StartLab(ctx, lab.Options{}), scenario.Options{Workers: 2})
	identities, err := cluster.Identities(ctx)
	Expect(err).NotTo(HaveOccurred())
	first, last = identities[0].Node, identities[1].Node
	Expect(storage.Install(ctx, cluster.WorkloadKube())).To(Succeed())
	Expect(storage.Install(ctx, cluster.WorkloadKube(), kubeVirtKind, instanceKind, migrationKind, planKind)).To(Succeed())
	volumes, err = storage.NewLonghorn(ctx, cluster.WorkloadKube(), clock.RealClock{})
	Expect(err).NotTo(HaveOccurred())
	installKubeVirt(ctx)
})

// kubectl returns all output of kubectl, including warnings and errors.
func kubectl(ctx context.Context, args ...string) (string, error) {
	root, err := repository.Root()
	if err != nil {
		return "", err
	}
	args = append([]string{"--kubeconfig", lab.AdminKubeconfig(cluster.Lab.Management), "--namespace", cluster.Namespace()}, args...)
	printed := &bytes.Buffer{}
	command := exec.CommandContext(ctx, filepath.Join(root, "bin", "tools", "kubectl"), args...)
	command.Stdout, command.Stderr = printed, printed
	err = command.Run()
	return printed.String(), err
}

// patch patches the workers' template to an image.
func patch(ctx context.Context, uri string, flags ...string) (string, error) {
	args := append([]string{"patch", "elementalmachinetemplate", scenario.Template, "--type", "merge", "--patch",
		fmt.Sprintf(`{"spec":{"template":{"spec":{"osVersionManagement":{"osVersion":{"imageURI":%q}}}}}}`, uri)}, flags...)
	return kubectl(ctx, args...)
}

// dryRun is what kubectl prints for a dry run of a request.
func dryRun(ctx context.Context) string {
	printed, _ := patch(ctx, "oci://registry.example.com/os:next", "--dry-run=server")
	return printed
}

func push(ctx context.Context) image.Image {
	GinkgoHelper()
	return suite.Push(ctx, cluster, image.OS{})
}
