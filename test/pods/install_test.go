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
)

const (
	tag = "v0.8.0"
	// apiPort is the port of the Node at which hosts reach the Elemental API.
	apiPort = 30090
)

// installCertManager runs cert-manager's controllers.
func installCertManager(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "apply", "--server-side", "--filename", filepath.Join(root, "bin/manifests/cert-manager-crds.yaml"))
	kubectl(ctx, "wait", "--for=condition=Established", "crd", "--all")
	kubectl(ctx, "apply", "--filename", "testdata/cert-manager.yaml")
	awaitDeployment(ctx, "cert-manager", "cert-manager")
}

// installProviders runs "clusterctl init" with the release.
func installProviders(ctx context.Context) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	suite.WriteRepository(ctx, root, dir, tag)
	command := exec.CommandContext(ctx, built("tools/clusterctl"), "--config", filepath.Join(dir, "clusterctl.yaml"), "init",
		"--infrastructure", "elemental", "--runtime-extension", "elemental", "--wait-providers")
	command.Env = []string{
		"EXP_RUNTIME_SDK=true", "EXP_IN_PLACE_UPDATES=true", "CLUSTER_TOPOLOGY=true",
		fmt.Sprintf("ELEMENTAL_API_ENDPOINT=%s:%d", nodeAddress, apiPort), "ELEMENTAL_API_IP=" + nodeAddress,
		"ELEMENTAL_API_SERVICE_TYPE=NodePort", fmt.Sprintf("ELEMENTAL_API_NODE_PORT=%d", apiPort),
		"KUBECONFIG=" + lab.AdminKubeconfig(theLab.Management), "HOME=" + dir, "XDG_CONFIG_HOME=" + dir,
		"PATH=" + os.Getenv("PATH"), "CLUSTERCTL_DISABLE_VERSIONCHECK=true",
	}
	GinkgoWriter.Println("$ clusterctl", strings.Join(command.Args[3:], " "))
	said, err := command.CombinedOutput()
	GinkgoWriter.Print(string(said))
	Expect(err).NotTo(HaveOccurred(), string(said))
}

func awaitDeployment(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	kubectl(ctx, "rollout", "status", "deployment/"+name, "--namespace", namespace, "--timeout", patience.String())
}
