// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// writtenState is state.yaml as the toolkit decodes it.
// Source: elemental-toolkit v2.3.2, types.InstallState.
type writtenState struct {
	Snapshotter struct {
		Type string `yaml:"type"`
	} `yaml:"snapshotter"`
	Partitions map[string]*writtenPartition `yaml:",inline"`
	// Date is not among Partitions.
	Date string `yaml:"date"`
}

type writtenPartition struct {
	Label     string                   `yaml:"label"`
	Recovery  *writtenSystem           `yaml:"recovery"`
	Snapshots map[int32]*writtenSystem `yaml:"snapshots"`
}

type writtenSystem struct {
	Source     string            `yaml:"source"`
	Digest     string            `yaml:"digest"`
	Active     bool              `yaml:"active"`
	Labels     map[string]string `yaml:"labels"`
	Date       string            `yaml:"date"`
	FromAction string            `yaml:"fromAction"`
	// FS is that of a recovery system; empty for snapshots.
	FS string `yaml:"fs"`
}

const (
	statePartition    = "state"
	recoveryPartition = "recovery"
	loopdevice        = "loopdevice"

	actionInstall   = "install"
	actionReset     = "reset"
	actionUpgrade   = "upgrade"
	actionBuildDisk = "build-disk"
)

var (
	// writers are the actions that a system is recorded for.
	writers = []string{actionInstall, actionUpgrade, "upgrade-recovery", actionReset, actionBuildDisk}
	// noImage matches sources that have no digest.
	noImage    = regexp.MustCompile(`^(dir|file):`)
	anyDigest  = regexp.MustCompile(`^sha256:[0-9a-f]+$`)
	wellDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// incomplete returns what an installation state lacks; empty if it is whole. The CLI writes the file in place, so that a loss of power can leave
// any beginning of it. Some of these decode, and the CLI was seen to remove the fallback and then to end abnormally. kind is the snapshotter of the
// running system; empty if unknown.
func incomplete(content []byte, kind string) string {
	state := writtenState{}
	if err := yaml.Unmarshal(content, &state); err != nil {
		return "it cannot be decoded"
	}
	if found := state.Snapshotter.Type; kind == btrfs && found != btrfs || found != "" && found != btrfs && found != loopdevice {
		return fmt.Sprintf("its snapshotter is %q", found)
	}
	if why := state.Partitions[recoveryPartition].lacksRecovery(); why != "" {
		return why
	}
	return state.lacksSnapshots()
}

func (p *writtenPartition) lacksRecovery() string {
	switch {
	case p == nil || p.Recovery == nil && p.Label != "":
		return ""
	case p.Recovery == nil:
		return "its recovery partition has no content"
	}
	if why := p.Recovery.lacks(false); why != "" {
		return "its recovery system has " + why
	}
	return ""
}

// lacksSnapshots: the snapshots are at the end of the file, the newest last.
func (s writtenState) lacksSnapshots() string {
	partition := s.Partitions[statePartition]
	if partition == nil || len(partition.Snapshots) == 0 {
		return "it has no snapshots"
	}
	ids := slices.Sorted(maps.Keys(partition.Snapshots))
	for _, id := range ids {
		newest := id == ids[len(ids)-1]
		if why := partition.Snapshots[id].lacks(newest && (s.hasActions() || s.isLabelled(id))); why != "" {
			return fmt.Sprintf("its snapshot %d has %s", id, why)
		}
	}
	if !partition.hasActive() {
		return "no snapshot in it is active" // the newest is, so it is cut between two
	}
	return ""
}

func (p *writtenPartition) hasActive() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(p.Snapshots)), func(each *writtenSystem) bool { return each != nil && each.Active })
}

// snapshot returns the record of a snapshot; nil if there is none.
func (s writtenState) snapshot(id int32) *writtenSystem {
	if partition := s.Partitions[statePartition]; partition != nil {
		return partition.Snapshots[id]
	}
	return nil
}

func (s *writtenSystem) snapshotState() snapshotState {
	return snapshotState{Source: s.Source, Digest: s.Digest, Active: s.Active, Labels: s.Labels}
}

// hasActions reports whether a CLI that records actions has written the snapshots. Those before v2.2.0 do not. That such a CLI has upgraded the
// recovery system says nothing of them: the snapshot that it wrote with it may be removed.
func (s writtenState) hasActions() bool {
	if slices.Contains([]string{actionInstall, actionReset, actionBuildDisk}, s.recoveryAction()) {
		return true
	}
	partition := s.Partitions[statePartition]
	return partition != nil && slices.ContainsFunc(slices.Collect(maps.Values(partition.Snapshots)), func(each *writtenSystem) bool {
		return each != nil && each.FromAction != ""
	})
}

// isLabelled reports whether a snapshot has labels in a state that a CLI which records actions has written: it writes them together.
func (s writtenState) isLabelled(id int32) bool {
	snapshot := s.snapshot(id)
	return s.recoveryAction() != "" && snapshot != nil && len(snapshot.Labels) > 0
}

func (s writtenState) recoveryAction() string {
	if partition := s.Partitions[recoveryPartition]; partition != nil && partition.Recovery != nil {
		return partition.Recovery.FromAction
	}
	return ""
}

// lacks returns what is missing of a record of a system. The action, its last part, is required if acted is set.
func (s *writtenSystem) lacks(acted bool) string {
	if why := s.lacksImage(); why != "" {
		return why
	}
	_, dated := time.Parse(time.RFC3339, s.Date)
	if s.FromAction == actionBuildDisk {
		acted = false // the CLI writes no date for a disk image
	}
	switch {
	case (acted || s.FromAction != "") && !slices.Contains(writers, s.FromAction):
		return fmt.Sprintf("the action %q", s.FromAction)
	case (acted || s.Date != "") && dated != nil:
		return fmt.Sprintf("the date %q", s.Date)
	}
	return ""
}

// lacksImage returns what is missing to know the image of a system.
func (s *writtenSystem) lacksImage() string {
	switch {
	case s == nil:
		return "no content"
	case s.Source == "":
		return "no source"
	}
	digest := anyDigest
	if s.FromAction == "" {
		digest = wellDigest // nothing after it shows that it is not cut
	}
	if (s.Digest != "" || !s.mayLackDigest()) && !digest.MatchString(s.Digest) {
		return fmt.Sprintf("the digest %q", s.Digest)
	}
	return ""
}

// mayLackDigest reports whether the CLI can have written a record without a digest. An installation whose recovery system is named, as the same
// image, has none of that, nor has what is reset from it. What is written after the digest shows that the record is not cut there.
// Source: elemental-toolkit v2.3.2, pkg/action, InstallAction.Run and ResetAction.updateInstallState.
func (s *writtenSystem) mayLackDigest() bool {
	return noImage.MatchString(s.Source) || s.FS != "" || s.FromAction == actionReset
}

// withoutIncomplete removes the systems of a state whose image is not known, except the running one if it has a source: a record of it that a CLI writes
// in a form that is not known here must not be lost.
func withoutIncomplete(document *yaml.Node, running int32) {
	state := writtenState{}
	if document.Decode(&state) != nil {
		return
	}
	if recovery := state.Partitions[recoveryPartition]; recovery != nil && recovery.Recovery.lacksImage() != "" {
		removeKey(nodeAt(document, recoveryPartition), recoveryPartition)
		if recovery.Label == "" {
			removeKey(root(document), recoveryPartition)
		}
	}
	partition := state.Partitions[statePartition]
	if partition == nil {
		removeKey(root(document), statePartition)
		return
	}
	for id, each := range partition.Snapshots {
		if each.lacksImage() != "" && (id != running || each == nil || each.Source == "") {
			removeKey(nodeAt(document, statePartition, "snapshots"), strconv.Itoa(int(id)))
		}
	}
}

// activate marks a snapshot as active, or the newest if that is not recorded, where none is.
func activate(document *yaml.Node, id int32) {
	state := writtenState{}
	if document.Decode(&state) != nil || state.Partitions[statePartition] == nil || state.Partitions[statePartition].hasActive() {
		return
	}
	recorded := state.Partitions[statePartition].Snapshots
	if recorded[id] == nil && len(recorded) > 0 {
		id = slices.Max(slices.Collect(maps.Keys(recorded)))
	}
	snapshot := nodeAt(document, statePartition, "snapshots", strconv.Itoa(int(id)))
	if snapshot == nil || snapshot.Kind != yaml.MappingNode {
		return
	}
	removeKey(snapshot, "active")
	snapshot.Content = append(snapshot.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "active"}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
}

func root(document *yaml.Node) *yaml.Node {
	if len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}

// addSnapshot adds a snapshot that an upgrade of this agent has written, without a source that could be pulled again.
func addSnapshot(document *yaml.Node, id int32, written identity, date time.Time) error {
	if root(document) == nil || root(document).Kind != yaml.MappingNode {
		*document = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	snapshots := mappingAt(mappingAt(root(document), statePartition), "snapshots")
	removeKey(snapshots, strconv.Itoa(int(id)))
	key, value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(int(id))}, &yaml.Node{}
	err := value.Encode(struct {
		Source     string            `yaml:"source"`
		Digest     string            `yaml:"digest"`
		Labels     map[string]string `yaml:"labels"`
		Date       string            `yaml:"date"`
		FromAction string            `yaml:"fromAction"`
	}{
		"oci://" + agentRepository + "@" + written.Digest, written.Digest,
		map[string]string{correlationLabel: written.Attempt}, date.UTC().Format(time.RFC3339), actionUpgrade,
	})
	snapshots.Content = append(snapshots.Content, key, value)
	return err
}

// agentRepository is the repository from which the CLI pulls images, in the agent's registry.
const agentRepository = "elemental/os"

// mappingAt returns the mapping of a key, which is created if there is none.
func mappingAt(mapping *yaml.Node, key string) *yaml.Node {
	if value := valueOf(mapping, key); value != nil && value.Kind == yaml.MappingNode {
		return value
	}
	removeKey(mapping, key)
	value := &yaml.Node{Kind: yaml.MappingNode}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
	return value
}

// known reports whether an identity has what is needed to record its snapshot.
func (i identity) known() bool { return i.Attempt != "" && wellDigest.MatchString(i.Digest) }
