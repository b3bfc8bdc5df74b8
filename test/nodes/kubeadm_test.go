// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
)

// kubeadmName is the name under which the test binary acts as kubeadm.
const kubeadmName = "kubeadm"

// playKubeadm simulates "kubeadm join --config FILE": the lab has no token authentication and signs no certificates for kubelets, so that the
// kubelet gets a kubeconfig that the test has made. It returns when the kubelet is healthy.
func playKubeadm(args []string) error {
	at := slices.Index(args, "--config")
	if len(args) == 0 || args[0] != "join" || at < 0 || at+1 >= len(args) {
		return fmt.Errorf("kubeadm %s: only join --config FILE is there on a host of the test", strings.Join(args, " "))
	}
	data, err := os.ReadFile(args[at+1])
	if err != nil {
		return err
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	join, err := kubelet.ParseKubeadm(data, "JoinConfiguration", name)
	if err != nil {
		return err
	}
	address, err := ownAddress()
	if err != nil {
		return err
	}
	if err := configureKubelet(join, address); err != nil {
		return err
	}
	if said, err := exec.Command("systemctl", "restart", "kubelet.service").CombinedOutput(); err != nil {
		return fmt.Errorf("starting the kubelet: %w: %s", err, said)
	}
	return awaitKubelet()
}

// configureKubelet writes the files that kubeadm writes.
func configureKubelet(join kubelet.Join, address string) error {
	flags := "--hostname-override=" + join.NodeName + " --node-ip=" + address
	if len(join.Labels) > 0 {
		pairs := []string{}
		for _, label := range slices.Sorted(maps.Keys(join.Labels)) {
			pairs = append(pairs, label+"="+join.Labels[label])
		}
		flags += " --node-labels=" + strings.Join(pairs, ",")
	}
	if join.ProviderID != "" {
		flags += " --provider-id=" + join.ProviderID
	}
	config, err := os.ReadFile("/usr/lib/lab/kubelet.yaml")
	err = errors.Join(err, os.MkdirAll("/var/lib/kubelet", 0o755), os.MkdirAll("/etc/kubernetes/manifests", 0o755),
		os.CopyFS("/etc/kubernetes", os.DirFS("/run/lab/kubernetes")), os.WriteFile("/var/lib/kubelet/config.yaml", config, 0o600))
	if err != nil {
		return err
	}
	return os.WriteFile("/var/lib/kubelet/kubeadm-flags.env", []byte(fmt.Sprintf("KUBELET_KUBEADM_ARGS=%q\n", flags)), 0o600)
}

// ownAddress of the host.
func ownAddress() (string, error) {
	link, err := net.InterfaceByName(uplink)
	if err != nil {
		return "", err
	}
	found, err := link.Addrs()
	if err != nil {
		return "", err
	}
	for _, each := range found {
		if of, isNet := each.(*net.IPNet); isNet && of.IP.To4() != nil {
			return of.IP.String(), nil
		}
	}
	return "", errors.New(uplink + " has no address")
}

func awaitKubelet() error {
	const often, long = time.Second, 4 * time.Minute
	return wait.PollUntilContextTimeout(context.Background(), often, long, true, func(context.Context) (bool, error) {
		answer, err := http.Get("http://127.0.0.1:10248/healthz")
		if err != nil {
			return false, nil
		}
		return answer.StatusCode == http.StatusOK, answer.Body.Close()
	})
}
