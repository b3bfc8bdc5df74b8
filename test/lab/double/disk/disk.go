// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Places on a host, as the host knows them.
const (
	StateDir     = "/run/initramfs/elemental-state"
	OEMDir       = "/oem"
	EFIDir       = "/efi"
	RunEFIDir    = "/run/elemental/efi"
	WorkingTree  = "/run/elemental/workingtree"
	RecoveryDir  = "/run/elemental/recovery"
	RecoveryTree = RecoveryDir + "/boot-transition/recovery.imgTree"
	Kubelet      = "/var/lib/kubelet"
	BootstrapOK  = "/run/cluster-api/bootstrap-success.complete"
	recoveryDisk = "/lab/disk/recovery"
	bootFile     = "/run/lab/boot.json"
	sizeFile     = "/lab/disk/state-bytes"
)

// Names within the state partition.
const (
	StateFile     = "state.yaml"
	SnapshotsDir  = ".snapshots"
	SnapshotImage = "snapshot.img"
	WorkDir       = "snapshot.workDir"
	ActiveLink    = "active"
	RecoveryImage = "boot/recovery.img"
)

// Disk is the disk of a host; the value is its root directory.
type Disk string

// Boot is what is booted, kept beneath /run as long as the host is up.
type Boot struct {
	ID       string `json:"id"`
	Mode     string `json:"mode"`
	Snapshot int    `json:"snapshot,omitempty"`
}

// Path returns where a path of the host really is.
func (d Disk) Path(parts ...string) string {
	return filepath.Join(append([]string{string(d)}, parts...)...)
}

// HostPath is the inverse of Path; a path that is not beneath the root is taken to be the host's.
// Both places of the EFI partition have one name.
func (d Disk) HostPath(path string) string {
	if rel, err := filepath.Rel(string(d), path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		path = filepath.Join("/", rel)
	}
	path = filepath.Clean(path)
	if path == EFIDir || strings.HasPrefix(path, EFIDir+"/") {
		path = RunEFIDir + strings.TrimPrefix(path, EFIDir)
	}
	return path
}

// GrubEnv is the path of grubenv.
func (d Disk) GrubEnv() string { return d.partition(OEMDir, "grubenv") }

// GrubOEMEnv is the path of grub_oem_env.
func (d Disk) GrubOEMEnv() string { return d.partition(EFIDir, "grub_oem_env") }

// State is a path on the state partition.
func (d Disk) State(parts ...string) string {
	return d.partition(StateDir, parts...)
}

// Recovery is a path on the recovery partition.
func (d Disk) Recovery(parts ...string) string {
	return d.Path(append([]string{recoveryDisk}, parts...)...)
}

// Snapshot is a path of a snapshot; without parts its directory.
func (d Disk) Snapshot(id int, parts ...string) string {
	return d.State(append([]string{SnapshotsDir, strconv.Itoa(id)}, parts...)...)
}

// Snapshots are the ids of all snapshots, half-written ones too, in ascending order: the toolkit
// takes every directory with a number for one.
func (d Disk) Snapshots() ([]int, error) {
	entries, err := os.ReadDir(d.State(SnapshotsDir))
	if err != nil {
		return nil, fmt.Errorf("listing snapshots: %w", err)
	}
	var ids []int
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Active is the snapshot that the next boot takes by default: the target of the symlink, 0 without
// one, even when the target is gone.
func (d Disk) Active() (int, error) {
	target, err := os.Readlink(d.State(SnapshotsDir, ActiveLink))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading active snapshot: %w", err)
	}
	id, err := strconv.Atoi(filepath.Dir(target))
	if err != nil {
		return 0, fmt.Errorf("parsing active snapshot %q: %w", target, err)
	}
	return id, nil
}

// SetActive points the symlink to a snapshot.
func (d Disk) SetActive(id int) error {
	link := d.State(SnapshotsDir, ActiveLink)
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing active link: %w", err)
	}
	return os.Symlink(filepath.Join(strconv.Itoa(id), SnapshotImage), link)
}

// Booted is what is booted; the zero Boot when the host is down or runs no snapshot.
func (d Disk) Booted() (Boot, error) {
	var b Boot
	data, err := os.ReadFile(d.Path(bootFile))
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return b, fmt.Errorf("reading what is booted: %w", err)
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return b, fmt.Errorf("parsing what is booted: %w", err)
	}
	return b, nil
}

// SetBooted records what is booted.
func (d Disk) SetBooted(b Boot) error {
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return d.WriteFile(bootFile, data)
}

// WriteFile writes a file of the host and makes its directory.
func (d Disk) WriteFile(path string, data []byte) error {
	full := d.Path(path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	// Whoever reads meanwhile sees none of what the kernel would not show him either: half a mount table.
	whole := fmt.Sprintf("%s.%d", full, os.Getpid())
	err := os.WriteFile(whole, data, 0o644)
	if err == nil {
		err = os.Rename(whole, full)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
