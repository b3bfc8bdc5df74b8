// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package killtable

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/upgrade"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
)

// workDir is the agent's state directory.
const workDir = "/var/lib/elemental/agent"

// ofHost begins the edges of the host, of which the reboot is one.
const (
	ofHost      = "host "
	reboot Edge = ofHost + "reboot"
)

// Marker is the content of the agent's marker; empty without one.
func Marker(host *lab.Host) string { return readDisk(host).marker }

// disk is what the agent has written to its disk, and how often the host has booted: its side effects besides
// commands.
type disk struct {
	marker, known string
	boots         int
}

func readDisk(host *lab.Host) disk {
	read := func(name string) string {
		content, err := os.ReadFile(host.Path(workDir, name))
		if err != nil {
			return ""
		}
		return string(content)
	}
	return disk{marker: read(upgrade.MarkerFile), known: read(upgrade.KnownFile), boots: len(host.Boots())}
}

// since lists the side effects on the host since then.
func (d disk) since(then disk) []Edge {
	set := map[Edge]bool{}
	if d.boots > then.boots {
		set[reboot] = true
	}
	if d.known != then.known {
		set[ofHost+"known images"] = true
	}
	for _, changed := range markerChanges(unmarshal(then.marker), unmarshal(d.marker)) {
		set[Edge("host marker "+changed)] = true
	}
	return sortedEdges(set)
}

// markerChanges names what has changed in the agent's marker.
func markerChanges(was, is map[string]any) []string {
	if len(is) == 0 && len(was) > 0 {
		return []string{"removed"}
	}
	changes := []string{}
	if is["phase"] != was["phase"] {
		changes = append(changes, fmt.Sprintf("phase=%v", is["phase"]))
	}
	for _, field := range []string{"digest", "starts"} {
		if is[field] != nil && is[field] != was[field] {
			changes = append(changes, field)
		}
	}
	return changes
}

// command is the edge of a call, without what differs between hosts.
func command(host *lab.Host, argv []string) Edge {
	words := slices.Clone(argv)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], host.Path(), "")
		if name, _, assigned := strings.Cut(words[i], "="); assigned && !strings.HasPrefix(name, "-") {
			words[i] = name // the IDs of snapshots differ in each upgrade
		}
	}
	return Edge(ofHost + strings.Join(words, " "))
}

// unmarshal parses an object; a missing file is an empty one.
func unmarshal(content string) map[string]any {
	object := map[string]any{}
	_ = json.Unmarshal([]byte(content), &object)
	return object
}
