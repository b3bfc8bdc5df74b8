// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/units"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/cloudinit"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

const (
	farewellTimeout = 3 * time.Second
)

// cloudInit runs the yip files with the commands that the host has besides those for files: kubeadm, the agent, and
// the test doubles.
func (r *running) cloudInit() *cloudinit.Runner {
	commands := map[string]cloudinit.Command{
		"kubeadm":         r.kubeadm,
		"elemental-agent": r.agentCommand,
	}
	for _, name := range double.Names() {
		commands[name] = r.doubled
	}
	commands["systemctl"] = r.systemctl
	return &cloudinit.Runner{Disk: r.disk, Commands: commands, Log: r.console}
}

// doubled runs a command of package double in this process.
func (r *running) doubled(ctx context.Context, argv []string, stdout io.Writer) int {
	return double.Run(ctx, &double.Call{
		Argv: argv, Environ: r.environment(), Disk: r.disk, Stdout: stdout, Stderr: r.console, Now: time.Now,
	})
}

// agentCommand runs the real agent with this host's root and a configuration under it.
func (r *running) agentCommand(ctx context.Context, argv []string, _ io.Writer) int {
	args := slices.Clone(argv[1:])
	for i := range args {
		if i > 0 && args[i-1] == "--config" {
			args[i] = r.disk.Path(r.disk.HostPath(args[i]))
		}
		if path, ok := strings.CutPrefix(args[i], "--config="); ok {
			args[i] = "--config=" + r.disk.Path(r.disk.HostPath(path))
		}
	}
	if !slices.Contains(args, "--root") {
		args = append(args, "--root", r.opts.Root)
	}
	a, err := r.launch(args)
	if err != nil {
		_, _ = io.WriteString(r.console, err.Error()+"\n")
		return 1
	}
	select {
	case <-a.ended:
	case <-ctx.Done():
		a.kill()
		<-a.ended
	}
	if a.err != nil {
		return 1
	}
	return 0
}

// kubeadm simulates `kubeadm init|join --config FILE`: it succeeds once the Node is registered and, on a control
// plane, its etcd member has joined before that.
func (r *running) kubeadm(ctx context.Context, argv []string, _ io.Writer) int {
	data, join, err := r.readKubeadm(argv)
	if err == nil && join.ControlPlane {
		err = r.becomeControlPlane(ctx, data, join, slices.Contains(argv, "init"))
	}
	if err == nil {
		err = r.register(ctx, join)
	}
	if err != nil {
		r.event(JoinFailed, "%v", err)
		_, _ = io.WriteString(r.console, "kubeadm: "+err.Error()+"\n")
		return 1
	}
	r.event(Joined, "as node %s", join.NodeName)
	return 0
}

func (r *running) readKubeadm(argv []string) ([]byte, kubelet.Join, error) {
	kind := "JoinConfiguration"
	if slices.Contains(argv, "init") {
		kind = "InitConfiguration"
	}
	path := ""
	if i := slices.Index(argv, "--config"); i > 0 && i+1 < len(argv) {
		path = argv[i+1]
	}
	data, err := os.ReadFile(r.disk.Path(r.disk.HostPath(path)))
	if err != nil {
		return nil, kubelet.Join{}, err
	}
	join, err := kubelet.ParseKubeadm(data, kind, r.read("/etc/hostname"))
	return data, join, err
}

func (r *running) register(ctx context.Context, join kubelet.Join) error {
	if r.opts.Kubelet != nil {
		ctx, cancel := context.WithTimeout(ctx, process.Patience)
		defer cancel()
		if err := r.opts.Kubelet.Register(ctx, r.report(join)); err != nil {
			return err
		}
	}
	return join.Save(r.opts.Root)
}

func (r *running) report(join kubelet.Join) kubelet.Boot {
	b := kubelet.Boot{
		Join: join, BootID: r.bootID, MachineID: r.read("/etc/machine-id"),
		OSImage: r.system.Image.PrettyName(), KubeletVersion: r.system.KubeletVersion(),
	}
	orElse(&b.KubeletVersion, r.opts.KubeletVersion)
	switch {
	case r.etcd != nil:
		b.ControlPlane = &kubelet.ControlPlane{EtcdURL: r.etcd.ClientURL(), EtcdReady: r.etcd.Ready}
	case join.Service == kubelet.RKE2Server:
		b.ControlPlane = &kubelet.ControlPlane{EtcdReady: isRunning}
	}
	return b
}

func (r *running) read(path string) string {
	data, err := os.ReadFile(r.disk.Path(path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// startKubelet starts the kubelet of a host that has joined; in an unhealthy system it fails.
func (r *running) startKubelet() {
	join, ok, err := kubelet.LoadJoin(r.opts.Root)
	if err != nil || !ok {
		return
	}
	service := cmp.Or(join.Service, units.Kubelet)
	if !r.system.Healthy() {
		r.unit(service, units.Failed)
		return
	}
	r.unit(service, units.Active)
	if err := r.runKubelet(); err != nil {
		_, _ = io.WriteString(r.console, err.Error()+"\n")
	}
	if r.opts.Kubelet == nil {
		return
	}
	r.joined = &join
	if err := r.startEtcd(join); err != nil {
		_, _ = io.WriteString(r.console, err.Error()+"\n")
	}
	ctx, stop := context.WithCancel(r.ctx)
	r.stopKubelet = stop
	r.wg.Go(func() { r.opts.Kubelet.Run(ctx, r.report(join)) })
}

// leaveCluster is what the kubelet does in a graceful shutdown.
func (r *running) leaveCluster() {
	if r.joined == nil {
		return
	}
	r.stopKubelet()
	if r.etcd != nil {
		r.etcd.Stop()
	}
	ctx, cancel := context.WithTimeout(r.ctx, farewellTimeout)
	defer cancel()
	if err := r.opts.Kubelet.ShutDown(ctx, r.joined.NodeName); err != nil {
		_, _ = io.WriteString(r.console, err.Error()+"\n")
	}
}
