// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package kubevirt

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/workload"
)

// stopsWithin is how long an instance may still be there after its guest was to have ended.
const stopsWithin = 2 * time.Minute

// named is how many virtual machines a message names at most.
const named = 3

// progress says what is left: first what does not go on by itself.
func (p *pass) progress() Progress {
	progress := Progress{Decisions: p.decisions, Left: p.left()}
	if held := p.with(infrav1.VMBlock); len(held) > 0 {
		progress.Held = true
		progress.Message = reasons(held) + p.others(len(held))
		return progress
	}
	stuck := p.stuck()
	if progress.Left > 0 {
		progress.Message = fmt.Sprintf("%s to leave Node %s", count(progress.Left), p.Node.Name) + stuck
		return progress
	}
	names := []string{}
	for i := range p.snapshot.Pods {
		if pod := &p.snapshot.Pods[i]; pod.Spec.NodeName == p.Node.Name && pod.Labels[kubevirtv1.AppLabel] == launcher {
			names = append(names, keyOf(pod))
		}
	}
	progress.Message = "waiting for the last virtual machines to leave Node " + p.Node.Name
	if len(names) > 0 {
		progress.Message = "waiting for the Pods of virtual machines to end: " + shorten(names, ", ")
	}
	progress.Message += stuck
	return progress
}

// stuck is the part of a message that names what has been stopped and does not end, with what clears it; empty while all of it may take its time.
func (p *pass) stuck() string {
	found := []string{}
	for i := range p.snapshot.Instances {
		if why := p.lingers(&p.snapshot.Instances[i]); why != "" {
			found = append(found, why)
		}
	}
	for i := range p.snapshot.Pods {
		pod := &p.snapshot.Pods[i]
		if pod.Spec.NodeName != p.Node.Name || pod.Labels[kubevirtv1.AppLabel] != launcher {
			continue
		}
		if why := workload.Lingers(pod, p.Node, p.leaving()); why != "" {
			found = append(found, why)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "; " + shorten(found, "; ")
}

// lingers says of an instance that is being deleted why it has not gone; empty while its guest may take its time.
func (p *pass) lingers(vmi *kubevirtv1.VirtualMachineInstance) string {
	grace := time.Duration(ptr.Deref(vmi.Spec.TerminationGracePeriodSeconds, 0)) * time.Second
	if p.leaving().For(vmi) < grace+stopsWithin {
		return ""
	}
	return fmt.Sprintf("VirtualMachineInstance %s was to have ended and has not: bring virt-handler of Node %s back or, once its guest is off, "+
		`kubectl --namespace %s patch vmi %s --type merge --patch '{"metadata":{"finalizers":null}}'`,
		keyOf(vmi), p.Node.Name, vmi.Namespace, vmi.Name)
}

func (p *pass) leaving() workload.Leaving { return workload.Leaving{Observed: p.Observed, Now: p.Now} }

func (p *pass) with(wanted infrav1.VMDecision) []Decision {
	found := []Decision{}
	for _, decision := range p.decisions {
		if decision.Decision == wanted {
			found = append(found, decision)
		}
	}
	return found
}

// others is the part of a message that counts those that are on their way.
func (p *pass) others(held int) string {
	if moving := len(p.with(infrav1.VMMigrate)); moving > 0 {
		return fmt.Sprintf(" (and %s to leave Node %s)", count(moving), p.Node.Name)
	}
	if stopping := p.left() - held; stopping > 0 {
		return fmt.Sprintf(" (%d to be shut down after that)", stopping)
	}
	return ""
}

func count(n int) string {
	if n == 1 {
		return "waiting for 1 virtual machine"
	}
	return fmt.Sprintf("waiting for %d virtual machines", n)
}

func reasons(decisions []Decision) string {
	all := []string{}
	for _, decision := range decisions {
		all = append(all, "VirtualMachineInstance "+decision.Namespace+"/"+decision.Name+" "+decision.Reason)
	}
	return shorten(all, "; ")
}

// shorten joins the first few.
func shorten(all []string, separator string) string {
	if len(all) <= named {
		return strings.Join(all, separator)
	}
	return strings.Join(all[:named], separator) + fmt.Sprintf(" and %d more", len(all)-named)
}
