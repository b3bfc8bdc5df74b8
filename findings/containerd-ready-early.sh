#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Software:  containerd 1.6.20~ds1-1+deb12u3 (Debian 12), strace 6.1-0.1, k8s.io/cri-api v0.36.3, google.golang.org/grpc v1.83.1
# Guess:     containerd's unit has Type=notify: once systemd calls it started, it answers as a container runtime. A unit that is
#            ordered after it, such as one that runs kubeadm, can use the runtime.
# Behaviour: containerd 1.6.20 says READY=1 as soon as its sockets are open, and restores its state as a container runtime meanwhile.
#            Until that is done each call but that of the version is an error. It usually takes milliseconds, and longer with many containers
#            or a slow disk.
# Seen:      what expect compares below. strace makes one read of the disk take three seconds. Needs no root: containerd has folders
#            and sockets of its own, and starts no container.
# Source:    https://github.com/containerd/containerd/issues/8468, changed by https://github.com/containerd/containerd/pull/8576
# Here:      docs/os-images.md says what a unit of containerd needs. test/nspawn/testdata/units/containerd.service.d/50-lab.conf waits for the
#            runtime.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

debian_packages containerd=1.6.20~ds1-1+deb12u3 strace=6.1-0.1

sockets="uid = $(id -u)
gid = $(id -g)"
cat >config.toml <<TOML
version = 2
root = "$WORK/data"
state = "$WORK/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.overlayfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt"]
[grpc]
address = "$WORK/containerd.sock"
$sockets
[ttrpc]
address = "$WORK/ttrpc.sock"
$sockets
[plugins."io.containerd.grpc.v1.cri"]
disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "$WORK/cni"
conf_dir = "$WORK/cni"
TOML

go_modules k8s.io/cri-api@v0.36.3 google.golang.org/grpc@v1.83.1
go_run <<'GO'
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func main() {
	here, err := os.Getwd()
	check(err)
	notify := filepath.Join(here, "notify.sock")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	check(err)
	// With -D the child is containerd, and strace a process beside it. The path is read as the state is restored.
	containerd := exec.Command("strace", "-D", "-f", "-qq", "-o", "trace", "--seccomp-bpf", "-e", "trace=openat", "-e", "inject=openat:delay_enter=3000000",
		"-P", filepath.Join(here, "data/io.containerd.grpc.v1.cri/sandboxes"), "containerd", "--config", "config.toml")
	containerd.Env = append(os.Environ(), "NOTIFY_SOCKET="+notify)
	containerd.Stderr = os.Stderr
	check(containerd.Start())
	defer func() { _ = containerd.Process.Signal(syscall.SIGTERM); _ = containerd.Wait() }()

	check(listener.SetReadDeadline(time.Now().Add(time.Minute)))
	message := make([]byte, 100)
	length, err := listener.Read(message)
	check(err)
	fmt.Println("systemd hears:", strings.TrimSpace(string(message[:length])))

	connection, err := grpc.NewClient("unix://"+filepath.Join(here, "containerd.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	runtime := cri.NewRuntimeServiceClient(connection)
	call := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_, err := runtime.Status(ctx, &cri.StatusRequest{})
		return err
	}
	fmt.Println("the runtime answers:", status.Convert(call()).Message())
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if call() == nil {
			fmt.Println("it answers without an error later")
			return
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
expect <<'SEEN'
systemd hears: READY=1
the runtime answers: server is not initialized yet
it answers without an error later
SEEN
