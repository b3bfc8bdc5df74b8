// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/pki"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

const (
	// podPrefix begins the IPs of Pods, which the API server accepts in EndpointSlices, and processPrefix the addresses
	// that their processes listen on.
	podPrefix, processPrefix = "10.", "127."

	egressFile, egressSocket = "egress.yaml", "egress.sock"
	// egress makes the API server connect to Pods by a proxy.
	egress = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %s
`
)

// PodIP returns a new IP for a Pod that is a process of this machine, and the loopback address on which the process has
// to listen. It is unique among all labs of the machine.
func PodIP() (pod, listen string, err error) {
	ports, err := process.Ports(1) // a unique number above the Service range
	if err != nil {
		return "", "", err
	}
	host := fmt.Sprintf("%d.%d.1", ports[0]>>8, ports[0]&0xff)
	return podPrefix + host, processPrefix + host, nil
}

// startPodNetwork returns the flags of the API server for Options.PodNetwork.
func (c *Cluster) startPodNetwork() ([]string, error) {
	if !c.options.PodNetwork {
		return nil, nil
	}
	var err error
	if c.network, err = process.NewRouter(c.path(egressSocket), toProcess); err != nil {
		return nil, err
	}
	content := fmt.Sprintf(egress, c.path(egressSocket))
	if err := pki.WriteFiles(c.options.Dir, map[string][]byte{egressFile: []byte(content)}); err != nil {
		return nil, err
	}
	// Services are resolved to their endpoints.
	return []string{"--egress-selector-config-file=" + c.path(egressFile), "--enable-aggregator-routing=true"}, nil
}

// toProcess is where a Pod's process listens. Other addresses, those of kubelets, stay as they are.
func toProcess(hostPort string) string {
	if rest, isPod := strings.CutPrefix(hostPort, podPrefix); isPod {
		return processPrefix + rest
	}
	return hostPort
}
