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

// Paths on a host, as the host sees them.
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

// Boot is what is booted, stored under /run while the host is up.
type Boot struct {
	ID       string `json:"id"`
	Mode     string `json:"mode"`
	Snapshot int    `json:"snapshot,omitempty"`
}

// Path maps a path of the host to the machine.
func (d Disk) Path(parts ...string) string {
	return filepath.Join(append([]string{string(d)}, parts...)...)
}

// HostPath is the inverse of Path; a path that is not under the root is taken as the host's. Both paths
// of the EFI partition map to one.
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

// Snapshots are the IDs of all snapshots, partially written ones included, in ascending order: the
// toolkit treats every directory with a numeric name as one.
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

// Active is the snapshot that the next boot uses by default: the target of the symlink, even if that does
// not exist; 0 without a symlink.
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

// Booted is what is booted; the zero Boot if the host is down or does not run a snapshot.
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

// WriteFile writes a file of the host and creates its directory.
func (d Disk) WriteFile(path string, data []byte) error {
	full := d.Path(path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	// Written atomically, because the kernel would not show a concurrent reader half a mount table
	// either.
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
