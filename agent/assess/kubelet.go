// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package assess

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// KubeletUnits run a kubelet; a node has one of them.
var KubeletUnits = []string{"kubelet.service", "rke2-server.service", "rke2-agent.service", "k3s.service", "k3s-agent.service"}

// healthTimeout is how long a kubelet's health endpoint may take to answer.
const healthTimeout = 5 * time.Second

// healthClient does not use a proxy.
var healthClient = &http.Client{Timeout: healthTimeout, Transport: &http.Transport{DisableKeepAlives: true}}

// kubelet has to run and to be healthy. An active unit proves little: systemd, and RKE2 without systemd, restart a kubelet that exits again
// and again.
func kubelet(ctx context.Context, host *system.Host, _ Question, verdict *Verdict) error {
	states, err := host.ActiveStates(ctx, KubeletUnits...)
	if err != nil {
		return err
	}
	if !slices.Contains(states, "active") {
		verdict.add(Undecided, "no kubelet is active ("+strings.Join(KubeletUnits, ", ")+")")
		return nil
	}
	processes, err := findKubelets(host)
	if err != nil {
		return err
	}
	if len(processes) == 0 {
		verdict.add(Undecided, "no kubelet runs (process "+strings.Join(kubeletNames, ", ")+")")
	}
	for _, each := range processes {
		verdict.Kubelet += each.identity() + " "
		if ill := each.ask(ctx, host); ill != "" {
			verdict.add(Undecided, ill)
		}
	}
	return nil
}

// ask calls the health endpoint of a kubelet. It returns why it is not healthy.
func (p process) ask(ctx context.Context, host *system.Host) string {
	url, err := healthURL(host, p)
	if err != nil {
		return "cannot determine the health endpoint of the kubelet: " + err.Error()
	}
	if url == "" {
		return ""
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "cannot determine the health endpoint of the kubelet: " + err.Error()
	}
	answer, err := healthClient.Do(request)
	if err != nil {
		return "the kubelet does not answer at " + url
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return ""
	}
	said, _ := io.ReadAll(io.LimitReader(answer.Body, maxSaid))
	return fmt.Sprintf("the kubelet is not healthy: %s answers %s: %s", url, answer.Status, system.LastLine(string(said)))
}

// maxSaid is how much of a response is quoted, in bytes.
const maxSaid = 512
