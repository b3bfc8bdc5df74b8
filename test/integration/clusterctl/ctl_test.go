// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterctl_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
)

const (
	tag = "v0.8.0"
	// endpoint is the address that the components are generated with. The lab's manager has one of its own.
	endpoint = "elemental.example.com:9090"
)

// directory of clusterctl's configuration and cache.
var directory string

func tool(name string) string { return filepath.Join(root, "bin", "tools", name) }

// ctl runs clusterctl on the management cluster, and logs the command.
func (p *plane) ctl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	said, err := p.run(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return said
}

// run returns what clusterctl wrote to its standard output.
func (p *plane) run(ctx context.Context, args ...string) (string, error) {
	tell("clusterctl", args)
	home := cmp.Or(p.directory, directory)
	command := exec.CommandContext(ctx, tool("clusterctl"), append([]string{"--config", filepath.Join(home, "clusterctl.yaml")}, args...)...)
	command.Env = append(p.variables(),
		"KUBECONFIG="+lab.AdminKubeconfig(p.Management), "HOME="+home, "XDG_CONFIG_HOME="+home,
		"PATH="+os.Getenv("PATH"), "CLUSTERCTL_DISABLE_VERSIONCHECK=true",
	)
	said, complained := &bytes.Buffer{}, &bytes.Buffer{}
	command.Stdout, command.Stderr = said, complained
	err := command.Run()
	p.told = complained.String()
	GinkgoWriter.Print(p.told)
	if len(args) > 0 && args[0] != "generate" {
		GinkgoWriter.Print(said.String())
	}
	if err != nil {
		return said.String(), fmt.Errorf("clusterctl %s: %w: %s", strings.Join(args, " "), err, complained)
	}
	return said.String(), nil
}

// variables are the environment variables that a person exports before the commands.
func (p *plane) variables() []string {
	exported := []string{
		"EXP_RUNTIME_SDK=true", "EXP_IN_PLACE_UPDATES=true", "CLUSTER_TOPOLOGY=true",
		"EXP_RECONCILER_RATE_LIMITING=false", // for speed
		"ELEMENTAL_API_ENDPOINT=" + endpoint,
		"ELEMENTAL_OS_IMAGE=" + cmp.Or(p.image, "oci://registry.example.com/os:v1"), "CONTROL_PLANE_ENDPOINT_HOST=192.168.122.50",
	}
	if p.Workload != nil {
		exported = append(exported, "CONTROL_PLANE_ENDPOINT_HOST="+p.Workload.Host(), fmt.Sprintf("CONTROL_PLANE_ENDPOINT_PORT=%d", p.Workload.Port()))
	}
	return exported
}

func tell(command string, args []string) {
	typed := []string{"$", command}
	for _, arg := range args {
		if strings.HasPrefix(arg, "/") {
			arg = filepath.Base(arg)
		}
		typed = append(typed, arg)
	}
	GinkgoWriter.Println(strings.Join(typed, " "))
}
