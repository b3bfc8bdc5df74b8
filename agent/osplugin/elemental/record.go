// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// forget removes the toolkit's record of a snapshot. The running one is active if that was.
func (p *Plugin) forget(snapshot int32) error {
	running, err := p.booted()
	if err != nil {
		return err
	}
	return p.editState(func(document *yaml.Node) (changed bool) {
		changed = removeKey(nodeAt(document, "state", "snapshots"), strconv.Itoa(int(snapshot)))
		activate(document, running)
		return changed
	})
}

// editState edits the toolkit's file, and keeps everything else in it.
func (p *Plugin) editState(edit func(document *yaml.Node) (changed bool)) error {
	content, err := os.ReadFile(p.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the installation state: %w", err)
	}
	if content, err = p.wholeState(content); err != nil {
		return err
	}
	document := yaml.Node{}
	if err := yaml.Unmarshal(content, &document); err != nil {
		return fmt.Errorf("decoding the installation state: %w", err)
	}
	if !edit(&document) {
		return nil
	}
	changed, err := encoded(&document)
	if err != nil {
		return err
	}
	return system.WriteFile(p.stateFile(), changed, stateFileMode)
}

func encoded(document *yaml.Node) ([]byte, error) {
	content := bytes.Buffer{}
	encoder := yaml.NewEncoder(&content)
	encoder.SetIndent(yamlIndent)
	if err := errors.Join(encoder.Encode(document), encoder.Close()); err != nil {
		return nil, fmt.Errorf("encoding the installation state: %w", err)
	}
	return content.Bytes(), nil
}

const (
	// stateFileMode and yamlIndent are those of the toolkit.
	stateFileMode = 0o644
	yamlIndent    = 4
)

// nodeAt returns the value beneath keys of a document; nil if there is none.
func nodeAt(document *yaml.Node, keys ...string) *yaml.Node {
	if len(document.Content) == 0 {
		return nil
	}
	node := document.Content[0]
	for _, key := range keys {
		if node = valueOf(node, key); node == nil {
			return nil
		}
	}
	return node
}

func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	if i := indexOf(mapping, key); i >= 0 {
		return mapping.Content[i+1]
	}
	return nil
}

func removeKey(mapping *yaml.Node, key string) bool {
	i := indexOf(mapping, key)
	if i < 0 {
		return false
	}
	mapping.Content = append(mapping.Content[:i], mapping.Content[i+2:]...)
	return true
}

// indexOf returns the index of a key of a mapping, which its value follows; -1 if there is none.
func indexOf(mapping *yaml.Node, key string) int {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}
