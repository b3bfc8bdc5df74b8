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
	"strconv"
	"strings"
)

// Paths on a host, as the host sees them.
const (
	StateDir    = "/run/initramfs/elemental-state"
	OEMDir      = "/oem"
	EFIDir      = "/efi"
	RunEFIDir   = "/run/elemental/efi"
	WorkingTree = "/run/elemental/workingtree"
	RecoveryDir = "/run/elemental/recovery"
	// NewStateDir, NewOEMDir and NewPersistentDir are where the CLI mounts partitions that are not mounted.
	NewStateDir      = "/run/elemental/state"
	NewOEMDir        = "/run/elemental/oem"
	NewPersistentDir = "/run/elemental/persistent"
	Kubelet          = "/var/lib/kubelet"
	BootstrapOK      = "/run/cluster-api/bootstrap-success.complete"
	recoveryDisk     = "/lab/disk/recovery"
	bootFile         = "/run/lab/boot.json"
	sizeFile         = "/lab/disk/state-bytes"
)

// Labels of the partitions.
const (
	LabelEFI        = "COS_GRUB"
	LabelOEM        = "COS_OEM"
	LabelRecovery   = "COS_RECOVERY"
	LabelState      = "COS_STATE"
	LabelPersistent = "COS_PERSISTENT"
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
func (d Disk) GrubOEMEnv() string { return d.EFI("grub_oem_env") }

// EFI is a path on the EFI partition.
func (d Disk) EFI(parts ...string) string { return d.partition(EFIDir, parts...) }

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

// Snapshots are the IDs of all snapshots, see Snapshots.IDs.
func (d Disk) Snapshots() ([]int, error) { return d.snapshots().IDs() }

// Active is the default snapshot, see Snapshots.Active.
func (d Disk) Active() (int, error) { return d.snapshots().Active() }

// SetActive points the symlink to a snapshot.
func (d Disk) SetActive(id int) error { return d.snapshots().SetActive(id) }

func (d Disk) snapshots() Snapshots { return Snapshots(d.State(SnapshotsDir)) }

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
