// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostupgrade

import (
	"context"
	"slices"
	"strings"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/sequence"
)

// check is one thing that has to be so before a node may be touched.
type check struct {
	name string
	run  func(ctx context.Context, o *observation) (infrav1.PreflightResult, error)
}

// checks in the order in which they are reported. The quarantine comes first: a bad image is not even
// offered to another host.
func (r *Reconciler) checks() []check {
	return []check{
		{"Paused", checkPaused},
		{"Quarantine", checkQuarantine},
		{"OtherAttempt", checkOtherAttempt},
		{"NodeReady", checkNodeReady},
		{"NodeSchedulable", checkNodeSchedulable},
		{"OtherNodes", r.checkOtherNodes},
		{"ControlPlaneQuorum", r.checkQuorum},
		{"KubeletVersion", checkKubeletVersion},
		{"FreeSpace", checkFreeSpace},
	}
}

// preflight runs the checks, and then asks the host to take part. It is run anew in every reconcile
// until the host has been triggered, so that nothing that went wrong meanwhile is overlooked.
func (r *Reconciler) preflight(ctx context.Context, o *observation) (sequence.Result, error) {
	if err := r.dropForeignTrigger(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	results, err := r.runChecks(ctx, o)
	if err != nil {
		return sequence.Result{}, err
	}
	o.upgrade.Status.Preflight = results
	if blockers := blocking(results); blockers != "" {
		return sequence.Wait(pollCluster, "%s", blockers), nil
	}
	if err := r.offer(ctx, o); err != nil {
		return sequence.Result{}, err
	}
	if o.hostReport().Attempt == "" {
		return sequence.Wait(pollHost, "waiting for the elemental-agent of ElementalHost %s to answer", o.host.Name), nil
	}
	return sequence.Done(), nil
}

// runChecks returns the results that are not Pass.
func (r *Reconciler) runChecks(ctx context.Context, o *observation) ([]infrav1.PreflightResult, error) {
	waived := waivers(o.upgrade)
	results := []infrav1.PreflightResult{}
	for _, c := range r.checks() {
		result, err := c.run(ctx, o)
		if err != nil {
			return nil, err
		}
		if result.Verdict == infrav1.PreflightPass {
			continue
		}
		result.Check = c.name
		if result.Verdict == infrav1.PreflightBlock && slices.Contains(waived, c.name) {
			result.Verdict = infrav1.PreflightWarn
			r.recordWaiver(o, result)
		}
		results = append(results, result)
	}
	return results, nil
}

func waivers(upgrade *infrav1.ElementalHostUpgrade) []string {
	return strings.FieldsFunc(upgrade.Annotations[infrav1.SkipPreflightAnnotation], func(c rune) bool {
		return c == ',' || c == ' '
	})
}

// blocking joins the messages of what blocks; empty if nothing does.
func blocking(results []infrav1.PreflightResult) string {
	messages := []string{}
	for _, result := range results {
		if result.Verdict == infrav1.PreflightBlock {
			messages = append(messages, result.Object+": "+result.Message)
		}
	}
	return strings.Join(messages, "; ")
}

func pass() infrav1.PreflightResult {
	return infrav1.PreflightResult{Verdict: infrav1.PreflightPass}
}

func block(object, message string) infrav1.PreflightResult {
	return infrav1.PreflightResult{Verdict: infrav1.PreflightBlock, Object: object, Message: message}
}

func warn(object, message string) infrav1.PreflightResult {
	return infrav1.PreflightResult{Verdict: infrav1.PreflightWarn, Object: object, Message: message}
}
