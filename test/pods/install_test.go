// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/nspawn"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/specs"
)

const (
	tag = "v0.8.0"
	// apiPort is the port of a Node at which hosts reach the Elemental API.
	apiPort = 30090
)

// install installs cert-manager's controllers and, with "clusterctl init", the release.
func (n *podNode) install(ctx context.Context) {
	GinkgoHelper()
	setup.InstallCertManager(ctx, lab.AdminKubeconfig(n.Cluster))
	n.clusterctl(ctx, "init", "--infrastructure", "elemental", "--runtime-extension", "elemental", "--wait-providers")
	n.kubectl(ctx, "apply", "--filename", "testdata/stand-in.yaml")
}

// clusterctl runs clusterctl on the cluster of the Node, and prints the command.
func (n *podNode) clusterctl(ctx context.Context, args ...string) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	suite.WriteRepository(ctx, setup.Root(), dir, tag)
	command := exec.CommandContext(ctx, setup.Built("tools/clusterctl"), append([]string{"--config", filepath.Join(dir, "clusterctl.yaml")}, args...)...)
	command.Env = []string{
		"EXP_RUNTIME_SDK=true", "EXP_IN_PLACE_UPDATES=true", "CLUSTER_TOPOLOGY=true",
		fmt.Sprintf("ELEMENTAL_API_ENDPOINT=%s:%d", nspawn.SharedAddress, apiPort), "ELEMENTAL_API_IP=" + nspawn.SharedAddress,
		"ELEMENTAL_API_SERVICE_TYPE=NodePort", fmt.Sprintf("ELEMENTAL_API_NODE_PORT=%d", apiPort),
		"KUBECONFIG=" + lab.AdminKubeconfig(n.Cluster), "HOME=" + dir, "XDG_CONFIG_HOME=" + dir,
		"PATH=" + os.Getenv("PATH"), "CLUSTERCTL_DISABLE_VERSIONCHECK=true",
	}
	GinkgoWriter.Println("$ clusterctl", strings.Join(args, " "))
	said, err := command.CombinedOutput()
	GinkgoWriter.Print(string(said))
	Expect(err).NotTo(HaveOccurred(), string(said))
}

func (n *podNode) awaitDeployment(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	n.kubectl(ctx, "rollout", "status", "deployment/"+name, "--namespace", namespace, "--timeout", specs.Patience.String())
}
