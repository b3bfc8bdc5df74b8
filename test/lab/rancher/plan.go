// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// drainHashPrefix begins the variable that changes with whatever a node has to be drained for.
const drainHashPrefix = "DRAIN_HASH="

// nodePlan is what the agent on a machine executes. It is a credential.
type nodePlan struct {
	Files        []planFile        `json:"files,omitempty"`
	Instructions []planInstruction `json:"instructions,omitempty"`
}

type planFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

type planInstruction struct {
	Name  string   `json:"name"`
	Image string   `json:"image"`
	Env   []string `json:"env,omitempty"`
}

// encodePlan is the plan that a machine is to have.
func encodePlan(spec planeSpec) ([]byte, error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", spec.ProvisionGeneration, spec.KubernetesVersion))
	plan := nodePlan{
		Files: []planFile{{Path: "/etc/rancher/rke2/config.yaml.d/50-rancher.yaml", Content: `{"token":"` + joinToken + `"}`}},
		Instructions: []planInstruction{{
			Name: "install", Image: "rancher/system-agent-installer-rke2:" + strings.ReplaceAll(spec.KubernetesVersion, "+", "-"),
			Env: []string{drainHashPrefix + hex.EncodeToString(sum[:])},
		}},
	}
	data, err := json.Marshal(plan)
	if err != nil {
		return nil, fmt.Errorf("encoding a plan: %w", err)
	}
	return data, nil
}

// drainHash of a plan; empty if there is no plan.
func drainHash(data []byte) string {
	plan := nodePlan{}
	if json.Unmarshal(data, &plan) != nil {
		return ""
	}
	for _, instruction := range plan.Instructions {
		for _, variable := range instruction.Env {
			if hash, isHash := strings.CutPrefix(variable, drainHashPrefix); isHash && instruction.Name == "install" {
				return hash
			}
		}
	}
	return ""
}

// isApplied reports whether the agent has executed the plan.
func isApplied(secret *corev1.Secret) bool {
	return len(secret.Data[planKey]) > 0 && string(secret.Data[planStateKey]) == planSucceeded
}

// isPending reports whether the agent has a plan to execute.
func isPending(secret *corev1.Secret) bool {
	return len(secret.Data[planKey]) > 0 && !isApplied(secret)
}

// probes are what the agent finds out about the machine.
type probes map[string]probe

type probe struct {
	Healthy      bool `json:"healthy,omitempty"`
	SuccessCount int  `json:"successCount,omitempty"`
	FailureCount int  `json:"failureCount,omitempty"`
}

// kubeletProbe is the only one that is played: whether the Node is Ready.
const kubeletProbe = "kubelet"

func probesOf(secret *corev1.Secret) probes {
	found := probes{}
	_ = json.Unmarshal(secret.Data[probesKey], &found) // none after a new plan
	return found
}

// next is the result of one more probe. It differs from the former: the Secret changes each time.
func (p probes) next(healthy bool) ([]byte, error) {
	last := p[kubeletProbe]
	if healthy {
		last = probe{Healthy: true, SuccessCount: last.SuccessCount + 1}
	} else {
		last = probe{FailureCount: last.FailureCount + 1}
	}
	return json.Marshal(probes{kubeletProbe: last})
}

func isHealthy(secret *corev1.Secret) bool { return probesOf(secret)[kubeletProbe].Healthy }
