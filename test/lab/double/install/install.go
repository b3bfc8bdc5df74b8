// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

// Install writes the system to a disk that is not in use: snapshot 1 and the recovery system. It first removes what was
// there.
func (a *Action) Install(ctx context.Context) (err error) {
	defer func() { err = a.clean(err) }()
	a.begin()
	a.Log.Info("Partitioning device...")
	if err := a.Host.PartitionDisk(a.Device); err != nil {
		return err
	}
	for _, label := range []string{disk.LabelEFI, disk.LabelOEM, disk.LabelRecovery, disk.LabelState, disk.LabelPersistent} {
		if err := a.mountPartition(label); err != nil {
			return fmt.Errorf("mounting partitions: %w", err)
		}
	}
	digest, err := a.newSystem(ctx, state.ActionInstall)
	if err != nil {
		return err
	}
	recovery := a.system(digest, state.ActionInstall)
	recovery.Active, recovery.FS = false, squashfs
	image := source.Source{Kind: source.File, Value: a.snapshots().Path(a.id, disk.SnapshotImage)}
	if err := a.replaceRecovery(ctx, image, RecoveryImage{FS: squashfs}); err != nil {
		return err
	}
	if err := a.hook(ctx, "post-install"); err != nil {
		return err
	}
	f := a.newState(digest, state.ActionInstall)
	f.Recovery = &state.Partition{Label: disk.LabelRecovery, Recovery: recovery}
	return a.write(f)
}

// copyCloudInit copies the given files under generated names, readable and writable by everybody. Source:
// elemental-toolkit v2.3.2, CopyCloudConfig.
func (a *Action) copyCloudInit(ctx context.Context) error {
	for i, path := range a.CloudInit {
		copied := a.Host.File(disk.LabelOEM, fmt.Sprintf("9%d_custom.yaml", i))
		content, err := a.fetch(ctx, path)
		if err == nil {
			err = errors.Join(os.WriteFile(copied, content, 0o666), os.Chmod(copied, 0o666)) // independent of the umask
		}
		if err != nil {
			return fmt.Errorf("copying cloud-init: %w", err)
		}
		a.Log.Infof("Finished copying cloud config file %s to %s", path, a.Host.HostPath(copied))
	}
	return nil
}

// fetch reads a file of the host, or downloads it.
func (a *Action) fetch(ctx context.Context, path string) ([]byte, error) {
	address, err := url.Parse(path)
	if err != nil {
		return nil, err
	}
	if address.Scheme != "http" && address.Scheme != "https" {
		return os.ReadFile(a.Host.Path(a.Host.HostPath(address.Path)))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", path, response.Status)
	}
	return io.ReadAll(response.Body)
}

// newSystem writes the system into the first snapshot of an empty state partition.
func (a *Action) newSystem(ctx context.Context, action string) (digest string, err error) {
	if err := a.initiate(); err != nil {
		return "", err
	}
	if err := a.hook(ctx, "before-"+action); err != nil {
		return "", err
	}
	if err := a.start(); err != nil {
		return "", err
	}
	if digest, err = a.deploy(ctx); err != nil {
		return "", err
	}
	a.Log.Info("Fine tune the dumped root tree")
	if err := a.copyCloudInit(ctx); err != nil {
		return "", err
	}
	if err := a.Host.InstallBootloader(a.snapshots().Path(a.id, disk.WorkDir)); err != nil {
		a.Log.Errorf("failed installing grub: %v", err)
		return "", err
	}
	if err := a.refineHooks(ctx, action); err != nil {
		return "", err
	}
	if err := errors.Join(a.labelEntries(), a.setVariables(grub.DefaultMenuEntry, "Elemental")); err != nil {
		return "", err
	}
	return digest, a.close()
}

func (a *Action) newState(digest, action string) *state.File {
	return &state.File{
		Date:        a.date(),
		Snapshotter: state.LoopDevice(),
		EFI:         &state.Partition{Label: disk.LabelEFI},
		OEM:         &state.Partition{Label: disk.LabelOEM},
		Persistent:  &state.Partition{Label: disk.LabelPersistent},
		State: &state.Partition{
			Label:     disk.LabelState,
			Snapshots: map[int]*state.System{a.id: a.system(digest, action)},
		},
	}
}
