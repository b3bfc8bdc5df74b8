// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"io"
	"os"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
)

// rke2Config is the configuration of RKE2's server and agent.
const rke2Config = "/etc/rancher/rke2/config.yaml"

// systemctl starts RKE2 where that is asked for: it registers the Node, as kubeadm does elsewhere. Its etcd is not played, because
// CAPRKE2 calls a member healthy whose Node exists. All else is as of the other commands of the double.
func (r *running) systemctl(ctx context.Context, argv []string, stdout io.Writer) int {
	if len(argv) != 3 || argv[1] != "start" || !kubelet.IsRKE2(argv[2]) {
		return r.doubled(ctx, argv, stdout)
	}
	join, err := r.startRKE2(ctx, argv[2])
	if err != nil {
		r.event(JoinFailed, "%v", err)
		_, _ = io.WriteString(r.console, "rke2: "+err.Error()+"\n")
		return 1
	}
	r.event(Joined, "as node %s", join.NodeName)
	return 0
}

func (r *running) startRKE2(ctx context.Context, service string) (kubelet.Join, error) {
	data, err := os.ReadFile(r.disk.Path(r.disk.HostPath(rke2Config)))
	if err != nil {
		return kubelet.Join{}, err
	}
	join, isFirst, err := kubelet.ParseRKE2(data, service, r.read("/etc/hostname"))
	if err == nil {
		err = r.register(ctx, join)
	}
	if err == nil && isFirst && r.opts.Kubelet != nil {
		err = r.opts.Kubelet.CreateServing(ctx)
	}
	return join, err
}

func isRunning(context.Context) error { return nil }
