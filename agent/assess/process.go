// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// kubeletNames are the names of processes that are or contain a kubelet.
var kubeletNames = []string{"kubelet", "k3s-server", "k3s-agent"}

const (
	processDir = "/proc"
	// startField of /proc/PID/stat, counted after the name: the start time of the process in ticks since the boot.
	// Source: proc_pid_stat(5), field 22.
	startField = 19
)

// process is a running process.
type process struct {
	pid, name, started string
	args               []string
}

// identity is unique, even if the PID is reused.
func (p process) identity() string {
	return fmt.Sprintf("%s %s (started at %s)", p.name, p.pid, p.started)
}

// findKubelets returns the host's running kubelets, by PID. A container may run a program with that name too: its options refer to files in
// the container, and its health is irrelevant.
func findKubelets(host *system.Host) ([]process, error) {
	entries, err := os.ReadDir(host.Path(processDir))
	if err != nil {
		return nil, fmt.Errorf("looking for the kubelet: %w", err)
	}
	var found []process
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		one, err := readProcess(host, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("looking for the kubelet: %w", err)
		}
		if !slices.Contains(kubeletNames, one.name) {
			continue
		}
		ours, err := ofHost(host, one.pid)
		if err != nil {
			return nil, fmt.Errorf("looking for the kubelet: %w", err)
		}
		if ours {
			found = append(found, one)
		}
	}
	return found, nil
}

// readProcess returns the zero value for a process that has ended.
func readProcess(host *system.Host, pid string) (process, error) {
	directory := host.Path(filepath.Join(processDir, pid))
	stat, err := os.ReadFile(filepath.Join(directory, "stat"))
	if gone(err) {
		return process{}, nil
	}
	if err != nil {
		return process{}, err
	}
	_, named, _ := strings.Cut(string(stat), "(")
	end := strings.LastIndexByte(named, ')')
	if end < 0 {
		return process{}, nil
	}
	fields := strings.Fields(named[end+1:])
	if len(fields) <= startField || fields[0] == "Z" {
		return process{}, nil
	}
	line, err := os.ReadFile(filepath.Join(directory, "cmdline"))
	if gone(err) {
		return process{}, nil
	}
	if err != nil {
		return process{}, err
	}
	args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	return process{pid: pid, name: named[:end], started: fields[startField], args: args}, nil
}

// ofHost reports whether root runs a process outside of all containers: it has no PID in another namespace, and is not in the control group
// of a Pod, which the kubelet always calls kubepods. Source: proc_pid_status(5), kubernetes pkg/kubelet/cm.
func ofHost(host *system.Host, pid string) (bool, error) {
	directory := host.Path(filepath.Join(processDir, pid))
	said := map[string]string{}
	for _, file := range []string{"status", "cgroup"} {
		content, err := os.ReadFile(filepath.Join(directory, file))
		if gone(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		said[file] = string(content)
	}
	user, numbers := statusField(said["status"], "Uid:"), statusField(said["status"], "NSpid:")
	return slices.Index(user, "0") == 0 && len(numbers) == 1 && !strings.Contains(said["cgroup"], "/kubepods"), nil
}

func statusField(status, name string) []string {
	for line := range strings.Lines(status) {
		if value, found := strings.CutPrefix(line, name); found {
			return strings.Fields(value)
		}
	}
	return nil
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }
