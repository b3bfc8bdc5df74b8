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

// nobodysPort is a port at which nothing answers.
const nobodysPort = 1

// A flapping kubelet runs for flapLives and is restarted after flapPause, as systemd restarts it: it runs for a sixth
// of the time.
const (
	flapLives = 50 * time.Millisecond
	flapPause = 250 * time.Millisecond
)

// runKubelet provides what an agent observes of a kubelet until the boot ends: the process, its configuration, and its
// health endpoint. Its unit is always active.
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

// flap restarts a kubelet repeatedly, until the boot ends.
func (r *running) flap() {
	for r.ctx.Err() == nil {
		life, end := context.WithTimeout(r.ctx, flapLives)
		if err := r.startKubeletProcess(life); err != nil && r.ctx.Err() == nil {
			_, _ = io.WriteString(r.console, err.Error()+"\n")
		}
		<-life.Done()
		end()
		_ = os.RemoveAll(r.disk.Path(boot.KubeletProcess)) // fails only if the host's files are being deleted
		pause, end := context.WithTimeout(r.ctx, flapPause)
		<-pause.Done()
		end()
	}
}

// startKubeletProcess starts a process with a health endpoint that serves until ctx ends.
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
	pid, port := filepath.Base(boot.KubeletProcess), listener.Addr().(*net.TCPAddr).Port
	if r.system.Image.Labels[source.LabelKubeletHealthz] != "" {
		port = nobodysPort
	}
	files := map[string]string{
		kubeletConfig: fmt.Sprintf("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nhealthzPort: %d\n", port),
		// Fields that nothing reads are 0.
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
