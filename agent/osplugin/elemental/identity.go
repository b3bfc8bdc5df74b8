// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// identity is stored in the tree of a snapshot: ids of snapshots are reused, and state.yaml is written after the snapshot has become the
// default.
type identity struct {
	Attempt string `json:"attempt"`
	Digest  string `json:"digest"`
}

// identityOf returns the identity of the snapshot that an upgrade writes.
func identityOf(request osplugin.Upgrade) identity {
	_, digest, _ := strings.Cut(request.Image, "@")
	return identity{Attempt: request.Attempt, Digest: digest}
}

// identity returns that of the booted snapshot; the zero value if it was not written for an attempt.
func (p *Plugin) identity() (identity, error) {
	found := identity{}
	_, err := system.ReadJSON(p.host.Path(identityFile), &found)
	return found, err
}

// contradicts reports whether the record of a snapshot's id is about a former snapshot with that id.
func (i identity) contradicts(recorded snapshotState) bool {
	attempt, ours := recorded.Labels[correlationLabel]
	return i != (identity{}) && ours && (i.Attempt != attempt || i.Digest != recorded.Digest)
}

// steps returns the steps of the hook that write the identity into the new tree.
func (i identity) steps() ([]yipStage, error) {
	content, err := json.Marshal(i)
	if err != nil {
		return nil, fmt.Errorf("encoding the identity of the snapshot: %w", err)
	}
	return writeFiles("Identify the new OS", []yipContent{{Path: workingTree + identityFile, Mode: 0o644, Content: content}}), nil
}
