// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// keepState copies the installation state before the CLI reads and changes it. A state that is not whole is replaced first: by a copy that is,
// the agent's or that of the recovery partition, with the snapshots that were written since; or else by its whole parts.
func (p *Plugin) keepState(ctx context.Context) error {
	content, err := os.ReadFile(p.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the installation state: %w", err)
	}
	kind := p.bootedKind()
	why := incomplete(content, kind)
	if why == "" {
		return p.copyState(content)
	}
	p.log.Warn("The installation state is not whole", "file", p.stateFile(), "reason", why)
	restored, err := p.restoredState(ctx, content, kind)
	if err != nil || restored == nil {
		return err
	}
	if bytes.Equal(restored, content) {
		return nil
	}
	return system.WriteFile(p.stateFile(), restored, stateFileMode)
}

// copyState writes only what has changed: it is called in every boot.
func (p *Plugin) copyState(content []byte) error {
	if kept, err := os.ReadFile(p.keptState()); err == nil && bytes.Equal(kept, content) {
		return nil
	}
	return system.WriteFile(p.keptState(), content, stateFileMode)
}

func (p *Plugin) restoredState(ctx context.Context, content []byte, kind string) ([]byte, error) {
	kept, _ := os.ReadFile(p.keptState()) // what cannot be read is not whole
	for _, each := range []struct {
		name string
		read func() []byte
	}{
		{"the agent's copy", func() []byte { return kept }},
		{"the copy on the recovery partition", func() []byte { return p.recoveryState(ctx) }},
	} {
		if found := each.read(); incomplete(found, kind) == "" {
			p.log.Warn("Restoring the installation state", "from", each.name)
			content = found
			break
		}
	}
	return p.withSnapshots(content, p.identities(ctx))
}

// withSnapshots returns a state without what is not whole in it, and with snapshots that it lacks, or has of another attempt; nothing if nothing is left.
func (p *Plugin) withSnapshots(content []byte, written map[int32]identity) ([]byte, error) {
	document := yaml.Node{}
	if yaml.Unmarshal(content, &document) != nil || document.Decode(&writtenState{}) != nil {
		document = yaml.Node{}
	}
	running, _ := p.booted() // none
	withoutIncomplete(&document, running)
	p.withoutGone(&document)
	before := writtenState{}
	if err := document.Decode(&before); err != nil {
		return nil, fmt.Errorf("decoding the installation state: %w", err)
	}
	if len(written) == 0 && len(document.Content) == 0 {
		return nil, nil
	}
	if err := p.addSnapshots(&document, before, written); err != nil {
		return nil, fmt.Errorf("encoding the installation state: %w", err)
	}
	activate(&document, running)
	p.nameSnapshotter(&document)
	return encoded(&document)
}

// withoutGone removes the records of snapshots that were removed since a copy was made: the CLI reuses their ids, and would not record the next one
// as active.
func (p *Plugin) withoutGone(document *yaml.Node) {
	state := writtenState{}
	if document.Decode(&state) != nil || state.Partitions[statePartition] == nil {
		return
	}
	running, _ := p.booted() // none
	for id := range state.Partitions[statePartition].Snapshots {
		if _, err := os.Stat(p.snapshotPath(id)); id != running && errors.Is(err, fs.ErrNotExist) {
			removeKey(nodeAt(document, statePartition, "snapshots"), strconv.Itoa(int(id)))
		}
	}
}

// addSnapshots adds the snapshots that a state lacks, or has of another attempt.
func (p *Plugin) addSnapshots(document *yaml.Node, before writtenState, written map[int32]identity) error {
	for id, each := range written {
		if recorded := before.snapshot(id); recorded.lacks(before.hasActions()) == "" && !each.contradicts(recorded.snapshotState()) {
			continue
		}
		info, err := os.Stat(p.snapshotPath(id))
		if err != nil {
			continue // it is not a snapshot
		}
		if err := addSnapshot(document, id, each, info.ModTime()); err != nil {
			return err
		}
	}
	return nil
}

// nameSnapshotter names the snapshotter of what runs in a state that names none: the CLI would take another one.
func (p *Plugin) nameSnapshotter(document *yaml.Node) {
	kind := p.bootedKind()
	if root(document) == nil || kind == "" || valueOf(valueOf(root(document), "snapshotter"), "type") != nil {
		return
	}
	snapshotter := mappingAt(root(document), "snapshotter")
	snapshotter.Content = append(snapshotter.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "type"}, &yaml.Node{Kind: yaml.ScalarNode, Value: kind})
}

// identities returns the identities of the running snapshot and of complete older ones. What is newer was not booted since it was written.
func (p *Plugin) identities(ctx context.Context) map[int32]identity {
	found := p.runs()
	booted, err := p.booted()
	if err != nil {
		return found
	}
	entries, _ := os.ReadDir(p.snapshotsPath()) // none
	for _, entry := range entries {
		id, err := parseID(entry.Name())
		if err != nil || id >= booted {
			continue
		}
		if written, known := p.identityIn(ctx, id); known {
			if found == nil {
				found = map[int32]identity{}
			}
			found[id] = written
		}
	}
	return found
}

// identityIn reads the identity of a snapshot that does not run.
func (p *Plugin) identityIn(ctx context.Context, id int32) (written identity, known bool) {
	state := installState{}
	state.Snapshotter.Type = p.bootedKind()
	layout := p.layout(state)
	if !layout.whole(id) {
		return written, false
	}
	var content []byte
	if state.Snapshotter.Type == btrfs {
		content, _ = os.ReadFile(filepath.Join(layout.root(id), identityFile))
	} else {
		content = p.readWithin(ctx, layout.root(id), identityFile)
	}
	return written, json.Unmarshal(content, &written) == nil && written.known()
}

// recoveryState reads the copy that the CLI writes to the recovery partition; nothing if it cannot be read.
func (p *Plugin) recoveryState(ctx context.Context) []byte {
	labels := installState{}
	content, _ := os.ReadFile(p.stateFile())
	_ = yaml.Unmarshal(content, &labels) // its beginning may be there
	partition := p.host.Path(byLabel + cmp.Or(labels.Recovery.Label, recoveryLabel))
	mounts, _ := p.host.Mounts() // none
	device := deviceNumber(partition)
	for _, each := range mounts {
		if each.Target == recoveryDir || device != "" && each.Device == device && each.Root == "/" {
			content, _ := os.ReadFile(filepath.Join(p.host.Path(each.Target), stateFile))
			return content
		}
	}
	return p.readWithin(ctx, partition, "/"+stateFile)
}

const mountAndRead = `mount -o ro "$1" "$2" && cat "$2$3"`

// readWithin reads a file of a file system that is mounted in a private namespace; nothing beneath another root than the machine's.
func (p *Plugin) readWithin(ctx context.Context, device, file string) []byte {
	directory := p.host.Path(recoveryDir)
	if !p.host.Real() || os.MkdirAll(directory, 0o755) != nil {
		return nil
	}
	result, err := p.host.Runner.Run(ctx, system.Command{
		Name: "sh", Args: []string{"-c", mountAndRead, "sh", device, directory, file}, Private: true, Timeout: measureTimeout,
	})
	if err != nil || result.ExitCode != 0 {
		return nil
	}
	return []byte(result.Stdout)
}

// settleState judges the installation state at the beginning of a boot, unless a command that outlived the last agent may be writing it.
func (p *Plugin) settleState(ctx context.Context) {
	held, err := system.Lock(p.host.Path(elementalLock))
	if err != nil {
		return
	}
	defer func() { _ = held.Close() }()
	if err := p.keepState(ctx); err != nil {
		p.log.Warn("The installation state cannot be copied or restored", "error", err)
	}
}
