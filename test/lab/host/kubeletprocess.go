// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/boot"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
)

const kubeletConfig = "/var/lib/kubelet/config.yaml"

// A kubelet that flaps lives for so long, and is started again after so long, as one that systemd restarts: what it lives is a sixth of it.
const (
	flapLives = 50 * time.Millisecond
	flapPause = 250 * time.Millisecond
)

// runKubelet has what an agent finds of a kubelet on its host until the boot ends: the process, its configuration, and where it says that
// it is well. Its unit is active all the time.
func (r *running) runKubelet() error {
	if r.system.Image.Labels[source.LabelKubeletFlaps] != "" {
		r.wg.Go(r.flap)
		return nil
	}
	if err := r.startKubeletProcess(r.ctx); err != nil {
		return fmt.Errorf("starting the kubelet: %w", err)
	}
	return nil
}

// flap starts a kubelet again and again, until the boot ends.
func (r *running) flap() {
	for r.ctx.Err() == nil {
		life, end := context.WithTimeout(r.ctx, flapLives)
		if err := r.startKubeletProcess(life); err != nil && r.ctx.Err() == nil {
			_, _ = io.WriteString(r.console, err.Error()+"\n")
		}
		<-life.Done()
		end()
		_ = os.RemoveAll(r.disk.Path(boot.KubeletProcess)) // of a host whose files go at its end
		pause, end := context.WithTimeout(r.ctx, flapPause)
		<-pause.Done()
		end()
	}
}

// startKubeletProcess starts a process whose health is asked for until ctx ends.
func (r *running) startKubeletProcess(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(r.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "ok") })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	r.wg.Go(func() { _ = server.Serve(listener) })
	r.wg.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	pid := filepath.Base(boot.KubeletProcess)
	files := map[string]string{
		kubeletConfig: fmt.Sprintf("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nhealthzPort: %d\n", listener.Addr().(*net.TCPAddr).Port),
		// Fields of which nobody asks are 0.
		boot.KubeletProcess + "/stat":    fmt.Sprintf("%s (kubelet) S 1%s %d 0\n", pid, strings.Repeat(" 0", 17), time.Now().UnixMilli()),
		boot.KubeletProcess + "/cmdline": "/usr/bin/kubelet\x00--config=" + kubeletConfig + "\x00",
		boot.KubeletProcess + "/status":  "Name:\tkubelet\nUid:\t0\t0\t0\t0\nNSpid:\t" + pid + "\n",
		boot.KubeletProcess + "/cgroup":  "0::/system.slice/kubelet.service\n",
	}
	for path, content := range files {
		if err := r.disk.WriteFile(path, []byte(content)); err != nil {
			return err
		}
	}
	return nil
}
