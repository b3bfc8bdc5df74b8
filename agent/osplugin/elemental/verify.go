// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/tree"
)

const (
	// treeList in the work directory lists the files of the tree from which the CLI made a snapshot.
	treeList = "tree.json"

	// recordDir holds the hooks that record that list during the next run of the CLI.
	recordDir  = runDir + "/upgrade.d"
	recordHook = runDir + "/record.yaml"

	cliConfig      = "/etc/elemental/config.yaml"
	cliConfigFiles = "/etc/elemental/config.d/*.yaml"
	cloudInitPaths = "ELEMENTAL_CLOUD_INIT_PATHS"
)

// prepareRecord places the hooks that write the agent's identity into the new tree and list its files, and returns the variable that makes
// the CLI run them. They have to run after all other hooks, which may change the tree. The hooks of the new tree itself run last, so the
// first hook copies the second one there, into a directory that is not copied into the snapshot.
func (p *Plugin) prepareRecord(request osplugin.Upgrade) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("recording the files of the new OS: %w", err)
	}
	list := filepath.Join(p.workDir, treeList)
	if err := system.RemoveFile(list); err != nil {
		return "", err
	}
	identify, err := identityOf(request).steps()
	if err != nil {
		return "", err
	}
	within := workingTree + recordDir
	place := yipStage{
		Name:     "Place the hook that records the files of the new OS",
		Commands: []literal{literal(fmt.Sprintf("mkdir -p %s && cp %s %s/", within, recordHook, within))},
	}
	record := yipStage{Name: "Record the files of the new OS", Commands: []literal{
		literal("rm -rf " + filepath.Dir(within)),
		literal(fmt.Sprintf("%s tree record %s %s %s", quote(self), workingTree, quote(list), quote(p.snapshotsPath()))),
	}}
	hooks := map[string]yipFile{
		recordDir + "/place.yaml": {Stages: map[string][]yipStage{"after-upgrade.before": append(identify, place)}},
		recordHook:                {Stages: map[string][]yipStage{"after-upgrade.after": {record}}},
	}
	for path, hook := range hooks {
		if err := p.writeYip(path, hook); err != nil {
			return "", err
		}
	}
	paths, err := p.configuredPaths()
	return cloudInitPaths + "=" + strings.Join(append(paths, recordDir), ","), err
}

// configuredPaths returns the paths in the host's configuration of the CLI, which the variable would replace.
func (p *Plugin) configuredPaths() ([]string, error) {
	files, err := filepath.Glob(p.host.Path(cliConfigFiles))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, file := range append([]string{p.host.Path(cliConfig)}, files...) {
		content, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		given := struct {
			Paths []string `yaml:"cloud-init-paths"`
		}{}
		if err == nil {
			err = yaml.Unmarshal(content, &given)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the configuration of the elemental CLI: %w", err)
		}
		if len(given.Paths) > 0 {
			paths = given.Paths // the last file takes precedence, as in the CLI
		}
	}
	return paths, nil
}

// VerifySnapshot compares a snapshot with what the CLI should have written: the CLI exits with 0 even if the disk is full. It does nothing
// beneath another root than the machine's, where no file system can be mounted.
func (p *Plugin) VerifySnapshot(ctx context.Context, verification osplugin.Verification) error {
	if !p.host.Real() {
		return nil
	}
	snapshot := verification.Snapshot
	state, err := p.readState()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("verifying snapshot %d: %w", snapshot, err)
	}
	result, err := p.host.Runner.Run(ctx, system.Command{
		Name:    self,
		Args:    []string{"tree", "compare", filepath.Join(p.workDir, treeList), verification.Downloaded, p.layout(state).root(snapshot)},
		Private: true, Timeout: longestRun,
		Line: func(line string) { readProgress(line, verification.Read) },
	})
	if err != nil {
		return fmt.Errorf("verifying snapshot %d: %w", snapshot, err)
	}
	said := strings.TrimPrefix(system.LastLine(result.Stderr), "Error: ")
	switch result.ExitCode {
	case 0:
		return nil
	case tree.ExitDiffers:
		return fmt.Errorf("verifying snapshot %d: %w: %s", snapshot, osplugin.ErrCorrupt, said)
	}
	return fmt.Errorf("verifying snapshot %d: exit code %d: %s", snapshot, result.ExitCode, said)
}

// readProgress parses the progress output of "tree compare".
func readProgress(line string, read func(done, total int64)) {
	if read == nil {
		return
	}
	var done, total int64
	if _, err := fmt.Sscanf(line, tree.Progress, &done, &total); err == nil {
		read(done, total)
	}
}

// Discard removes a snapshot, and makes the booted one the default if the removed one was.
func (p *Plugin) Discard(ctx context.Context, snapshot int32) error {
	booted, err := p.booted()
	if err != nil {
		return err
	}
	state, err := p.readState()
	if err != nil {
		return err
	}
	if snapshot == booted {
		return fmt.Errorf("removing snapshot %d: it is booted", snapshot)
	}
	next, err := p.layout(state).next(ctx)
	if err != nil {
		return err
	}
	if next == snapshot {
		if err := p.replaceDefault(ctx, state, booted, snapshot); err != nil {
			return err
		}
	}
	if err := p.remove(ctx, state, snapshot); err != nil {
		return err
	}
	return p.flush()
}

// remove removes a snapshot, and its record first: the CLI reuses its id for the next one.
func (p *Plugin) remove(ctx context.Context, state installState, snapshot int32) error {
	if err := p.forget(snapshot); err != nil {
		return err
	}
	if err := p.layout(state).remove(ctx, snapshot); err != nil {
		return fmt.Errorf("removing snapshot %d: %w", snapshot, err)
	}
	return nil
}
