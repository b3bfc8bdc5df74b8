// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/bootstrap"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	kindv1 "sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

// apiPort is the port of the Elemental API on the kind node and on the machine that it runs on, as in hack/kind.
const apiPort = 30009

// kind is a management cluster in a container, with the release installed. Its hosts are real.
type kind struct{}

func (k *kind) resets() bool { return true }

func (k *kind) immovable() string {
	if config.GetVariableOrEmpty(endpointCommand) == "" {
		return endpointCommand + " is not set"
	}
	return ""
}

func (k *kind) start(ctx context.Context) framework.ClusterProxy {
	GinkgoHelper()
	k.requireVariables()
	provider := bootstrap.CreateKindBootstrapClusterAndLoadImages(ctx, bootstrap.CreateKindBootstrapClusterAndLoadImagesInput{
		Name: config.ManagementClusterName, KubernetesVersion: config.MustGetVariable("KUBERNETES_VERSION_MANAGEMENT"),
		Images: loadedImages(), LogFolder: filepath.Join(artifacts, "kind"),
		ExtraPortMappings: []kindv1.PortMapping{{ContainerPort: apiPort, HostPort: apiPort, Protocol: kindv1.PortMappingProtocolTCP}},
	})
	DeferCleanup(func(ctx SpecContext) {
		if !skipCleanup {
			provider.Dispose(ctx)
		}
	})
	writeRepository(ctx)
	proxy := framework.NewClusterProxy("bootstrap", provider.GetKubeconfigPath(), newScheme())
	initialize(ctx, proxy)
	return proxy
}

// loadedImages are those of the configuration, or the one that "make docker-build" has built; see the Makefile.
func loadedImages() []clusterctl.ContainerImage {
	name, tag := os.Getenv("MANAGER_IMAGE"), os.Getenv("RELEASE_TAG")
	if name == "" || tag == "" {
		return config.Images
	}
	return []clusterctl.ContainerImage{{Name: name + ":" + tag, LoadBehavior: clusterctl.MustLoadImage}}
}

func (k *kind) install(ctx context.Context, into framework.ClusterProxy) {
	GinkgoHelper()
	initialize(ctx, into)
}

func (k *kind) routeAPITo(ctx context.Context, to framework.ClusterProxy) {
	GinkgoHelper()
	run(ctx, endpointCommand, to.GetKubeconfigPath())
}

// initialize makes clusterctl install everything, the runtime extension by a separate command as docs/install.md says.
func initialize(ctx context.Context, proxy framework.ClusterProxy) {
	GinkgoHelper()
	logs := filepath.Join(artifacts, "clusters", proxy.GetName())
	clusterctl.InitManagementClusterAndWatchControllerLogs(background, clusterctl.InitManagementClusterAndWatchControllerLogsInput{
		ClusterProxy: proxy, ClusterctlConfigPath: clusterctlConfig, InfrastructureProviders: config.InfrastructureProviders(),
		LogFolder: logs, DisableMetricsCollection: true,
	}, config.GetIntervals("default", "wait-controllers")...)
	clusterctl.Init(ctx, clusterctl.InitInput{
		KubeconfigPath: proxy.GetKubeconfigPath(), ClusterctlConfigPath: clusterctlConfig, LogFolder: logs,
		RuntimeExtensionProviders: config.RuntimeExtensionProviders(),
	})
}

// requireVariables fails with all variables that are not set, before anything is started.
func (k *kind) requireVariables() {
	GinkgoHelper()
	required := []string{"ELEMENTAL_API_ENDPOINT", "ELEMENTAL_API_IP", endpointHost, imageInstalled, imageUpgrade}
	missing := slices.DeleteFunc(required, func(variable string) bool { return config.GetVariableOrEmpty(variable) != "" })
	Expect(missing).To(BeEmpty(), "set these environment variables, see docs/e2e.md (or run on the lab: -e2e.use-lab)")
	config.Variables["ELEMENTAL_API_SERVICE_TYPE"] = "NodePort"
	config.Variables["ELEMENTAL_API_NODE_PORT"] = "30009"
}

func (k *kind) prepare(context.Context, string, string) map[string]string {
	return map[string]string{}
}

// switchOn runs the command for hosts, or tells a person how to install them.
func (k *kind) switchOn(ctx context.Context, cluster, name, image string, agentConfig []byte) {
	GinkgoHelper()
	file := filepath.Join(artifacts, "clusters", cluster, "agent-config.yaml")
	Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
	Expect(os.WriteFile(file, agentConfig, 0o600)).To(Succeed())
	if config.GetVariableOrEmpty(hostCommand) == "" {
		AddReportEntry("Switch a host on", "with the agent's configuration "+file+" and the image "+image, ReportEntryVisibilityAlways)
		return
	}
	run(ctx, hostCommand, name, file, image)
}

// run runs the command that a variable names.
func run(ctx context.Context, variable string, args ...string) {
	GinkgoHelper()
	command := append(strings.Fields(config.MustGetVariable(variable)), args...)
	said, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	GinkgoWriter.Println(string(said))
	Expect(err).NotTo(HaveOccurred(), string(said))
}
