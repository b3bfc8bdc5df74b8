// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/boot"
)

const kubeletConfig = "/var/lib/kubelet/config.yaml"

// runKubelet has what an agent finds of a kubelet on its host: the process, its configuration, and where it says that it is well.
func (r *running) runKubelet() error {
	listener, err := (&net.ListenConfig{}).Listen(r.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("starting the kubelet: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "ok") })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	r.wg.Go(func() { _ = server.Serve(listener) })
	r.wg.Go(func() {
		<-r.ctx.Done()
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
			return fmt.Errorf("starting the kubelet: %w", err)
		}
	}
	return nil
}
