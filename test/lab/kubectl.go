// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
)

// AdminKubeconfig is the kubeconfig file by which a person reaches a cluster of the lab.
func AdminKubeconfig(cluster *kube.Cluster) string {
	return filepath.Join(filepath.Dir(cluster.AuditLog()), "admin.kubeconfig")
}

// Kubectl runs the real kubectl against the management cluster, as an operator would.
func (l *Lab) Kubectl(ctx context.Context, args ...string) (string, error) {
	return l.kubectl(ctx, l.Management, args)
}

// WorkloadKubectl runs kubectl against the workload cluster.
func (l *Lab) WorkloadKubectl(ctx context.Context, args ...string) (string, error) {
	return l.kubectl(ctx, l.Workload, args)
}

func (l *Lab) kubectl(ctx context.Context, cluster *kube.Cluster, args []string) (string, error) {
	args = append([]string{"--kubeconfig", AdminKubeconfig(cluster)}, args...)
	command := exec.CommandContext(ctx, l.options.tool("kubectl"), args...)
	said, complained := &bytes.Buffer{}, &bytes.Buffer{}
	command.Stdout, command.Stderr = said, complained
	if err := command.Run(); err != nil {
		return said.String(), fmt.Errorf("kubectl %v: %w: %s", args[2:], err, complained.String())
	}
	return said.String(), nil
}
