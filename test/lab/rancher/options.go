// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package rancher

import (
	"encoding/json"
	"fmt"
)

// UpgradeStrategy is how the nodes of a cluster are rolled.
type UpgradeStrategy struct {
	ControlPlaneConcurrency  string       `json:"controlPlaneConcurrency,omitempty"`
	ControlPlaneDrainOptions DrainOptions `json:"controlPlaneDrainOptions"`
	WorkerConcurrency        string       `json:"workerConcurrency,omitempty"`
	WorkerDrainOptions       DrainOptions `json:"workerDrainOptions"`
}

// DrainOptions are how a node is drained, as kubectl drain has them, and by which hooks.
type DrainOptions struct {
	Enabled            bool  `json:"enabled"`
	Force              bool  `json:"force"`
	IgnoreDaemonSets   *bool `json:"ignoreDaemonSets,omitempty"`
	IgnoreErrors       bool  `json:"ignoreErrors,omitempty"`
	DeleteEmptyDirData bool  `json:"deleteEmptyDirData"`
	DisableEviction    bool  `json:"disableEviction"`
	// GracePeriod in seconds of evicted Pods; a negative one is that of the Pod.
	GracePeriod int `json:"gracePeriod"`
	// Timeout in seconds of one attempt; 0 is 600.
	Timeout                         int         `json:"timeout"`
	SkipWaitForDeleteTimeoutSeconds int         `json:"skipWaitForDeleteTimeoutSeconds"`
	PreDrainHooks                   []DrainHook `json:"preDrainHooks,omitempty"`
	PostDrainHooks                  []DrainHook `json:"postDrainHooks,omitempty"`
}

// DrainHook names the annotation of the plan Secret that answers it.
type DrainHook struct {
	Annotation string `json:"annotation,omitempty"`
}

// WithHooks are the options with one hook before and one after the drain; an empty key is none.
func (o DrainOptions) WithHooks(before, after string) DrainOptions {
	if before != "" {
		o.PreDrainHooks = []DrainHook{{Annotation: before}}
	}
	if after != "" {
		o.PostDrainHooks = []DrainHook{{Annotation: after}}
	}
	return o
}

// Token is what identifies a drain by these options, and answers it: their canonical JSON. It is the same each time.
func (o DrainOptions) Token() (string, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("encoding drain options: %w", err)
	}
	sorted := map[string]any{}
	if err := json.Unmarshal(data, &sorted); err != nil {
		return "", fmt.Errorf("decoding drain options: %w", err)
	}
	data, err = json.Marshal(sorted)
	return string(data), err
}

// needed reports whether a node is to be drained by these options at all.
func (o DrainOptions) needed() bool {
	return o.Enabled || len(o.PreDrainHooks) > 0 || len(o.PostDrainHooks) > 0
}

// inClusterOf are the options in a cluster of so many machines: the only one is not drained, but its hooks are asked.
func (o DrainOptions) inClusterOf(machines int) DrainOptions {
	o.Enabled = o.Enabled && machines > 1
	return o
}

// parseToken is the options that a token stands for.
func parseToken(token string) (DrainOptions, error) {
	options := DrainOptions{}
	if err := json.Unmarshal([]byte(token), &options); err != nil {
		return DrainOptions{}, fmt.Errorf("reading drain options: %w", err)
	}
	return options, nil
}

// answered reports whether all hooks have the token as answer.
func answered(annotations map[string]string, hooks []DrainHook, token string) bool {
	for _, hook := range hooks {
		if hook.Annotation != "" && annotations[hook.Annotation] != token {
			return false
		}
	}
	return true
}
