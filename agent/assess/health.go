// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// k3sConfigDir is the configuration directory of the kubelet in a K3s process. RKE2 passes --config-dir.
const k3sConfigDir = "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"

// maxConfig is the longest configuration of a kubelet that is read, in bytes.
const maxConfig = 1 << 20

// healthz is the part of KubeletConfiguration with the address of the health endpoint, with its defaults.
// Source: kubernetes, staging/src/k8s.io/kubelet/config/v1beta1.
type healthz struct {
	Address string `yaml:"healthzBindAddress"`
	Port    int    `yaml:"healthzPort"`
}

// healthURL returns the health endpoint of a kubelet; empty if it is disabled. As in the kubelet, --config-dir takes precedence over
// --config, and the command line over both.
func healthURL(host *system.Host, of process) (string, error) {
	where := healthz{Address: "127.0.0.1", Port: 10248}
	files, err := configFiles(host, of)
	if err != nil {
		return "", err
	}
	for _, file := range files {
		content, err := system.ReadRegular(host.Path(file), maxConfig)
		if err != nil {
			return "", fmt.Errorf("reading its configuration: %w", err)
		}
		if err := yaml.Unmarshal(content, &where); err != nil {
			return "", fmt.Errorf("reading its configuration %s: %w", file, err)
		}
	}
	if address := option(of.args, "healthz-bind-address"); address != "" {
		where.Address = address
	}
	if port := option(of.args, "healthz-port"); port != "" {
		if where.Port, err = strconv.Atoi(port); err != nil {
			return "", fmt.Errorf("its option --healthz-port is %q", port)
		}
	}
	if where.Port == 0 {
		return "", nil
	}
	return "http://" + net.JoinHostPort(reachable(where.Address), strconv.Itoa(where.Port)) + "/healthz", nil
}

// configFiles returns the files that a kubelet reads, in its order.
func configFiles(host *system.Host, of process) ([]string, error) {
	var files []string
	if file := option(of.args, "config"); file != "" && of.name == "kubelet" {
		files = append(files, file)
	}
	directory := option(of.args, "config-dir")
	if of.name != "kubelet" {
		directory = k3sConfigDir
	}
	if directory == "" {
		return files, nil
	}
	found, err := filepath.Glob(filepath.Join(host.Path(directory), "*.conf"))
	if err != nil {
		return nil, err
	}
	for _, each := range slices.Sorted(slices.Values(found)) {
		files = append(files, filepath.Join(directory, filepath.Base(each)))
	}
	return files, nil
}

// option returns an option of a command line, in either form; the last one applies.
func option(args []string, name string) string {
	value := ""
	for i, arg := range args {
		arg = strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
		if given, found := strings.CutPrefix(arg, name+"="); found {
			value = given
		} else if arg == name && i+1 < len(args) {
			value = args[i+1]
		}
	}
	return value
}

// reachable returns an address of this machine at which a listener on the given address answers.
func reachable(address string) string {
	ip := net.ParseIP(address)
	switch {
	case !ip.IsUnspecified(): // a name is not unspecified either
		return address
	case ip.To4() == nil:
		return "::1"
	}
	return "127.0.0.1"
}
