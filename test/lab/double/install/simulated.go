// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
)

// Simulated is a host of the lab. Labels of the image make it misbehave.
type Simulated struct {
	disk.Disk
	// UserAgent and Transport are used for registries.
	UserAgent string
	Transport http.RoundTripper
	// HalfWay is called when half of the image is written.
	HalfWay func()
	// Kill kills this process during an action whose image requests it; SIGKILL unless set.
	Kill func()
	// CutPower powers the host off during an action whose image requests it.
	CutPower func()
	// Log is where stages that fail are logged; default: nowhere.
	Log *logrus.Logger

	pace *pace
	// isNew is set when the disk was partitioned: what is mounted then is mounted elsewhere than in a system that runs.
	isNew bool
}

var _ Host = (*Simulated)(nil)

// InRecovery implements Host.
func (s *Simulated) InRecovery() bool {
	booted, err := s.Booted()
	return err == nil && booted.Mode == grub.Recovery
}

// Partition implements Partitions. /etc and /var are the persistent partition, and always mounted.
func (s *Simulated) Partition(label string) (disk.Mount, bool) {
	if s.isNew {
		found := slices.IndexFunc(disk.InstallMounts(), func(m disk.Mount) bool { return m.Device == label })
		return disk.Mount{Device: label, Target: disk.InstallMounts()[found].Target}, true
	}
	targets := map[string]string{
		disk.LabelEFI: disk.RunEFIDir, disk.LabelOEM: disk.OEMDir, disk.LabelRecovery: disk.RecoveryDir, disk.LabelState: disk.StateDir, disk.LabelPersistent: "",
	}
	if s.InRecovery() {
		targets[disk.LabelRecovery], targets[disk.LabelState] = disk.StateDir, disk.NewStateDir
	}
	_, err := os.Stat(s.State())
	return disk.Mount{Device: label, Target: targets[label]}, err == nil
}

// File implements Partitions.
func (s *Simulated) File(label string, parts ...string) string {
	switch label {
	case disk.LabelEFI:
		return s.EFI(parts...)
	case disk.LabelOEM:
		return s.OEM(parts...)
	case disk.LabelRecovery:
		return s.Recovery(parts...)
	default:
		return s.State(parts...)
	}
}

// Mount implements Mounts. A partition that is mounted at /oem shows what it has.
func (s *Simulated) Mount(m disk.Mount) error {
	if m.Target == disk.OEMDir {
		if err := s.Show(disk.OEMDir); err != nil {
			return err
		}
	}
	return s.Disk.Mount(m)
}

// Unmount implements Mounts. What is written to the empty directory in place of /oem is lost.
func (s *Simulated) Unmount(target string) error {
	if err := s.Disk.Unmount(target); err != nil || target != disk.OEMDir {
		return err
	}
	return s.Hide(disk.OEMDir)
}

// PartitionDisk implements Partitions: it removes what all partitions have.
func (s *Simulated) PartitionDisk(string) error {
	used, err := s.InUse()
	if err != nil {
		return err
	}
	if used {
		return errors.New("partitioning: parted: Error: Partition(s) on the disk are being used")
	}
	if err := os.RemoveAll(s.Recovery()); err != nil {
		return fmt.Errorf("partitioning: %w", err)
	}
	for _, dir := range disk.Partitions() {
		if err := s.Wipe(dir); err != nil {
			return fmt.Errorf("partitioning: %w", err)
		}
	}
	s.isNew = true
	return nil
}

// Format implements Partitions.
func (s *Simulated) Format(label string) error {
	dirs := map[string][]string{disk.LabelState: {disk.StateDir}, disk.LabelOEM: {disk.OEMDir}, disk.LabelPersistent: disk.Persistent()}
	for _, dir := range dirs[label] {
		if err := s.Wipe(dir); err != nil {
			return fmt.Errorf("formatting: %w", err)
		}
	}
	return nil
}

// Deploy implements Trees.
func (s *Simulated) Deploy(ctx context.Context, system source.Source, dir string) (string, error) {
	s.pace = &pace{ctx: ctx, disk: s.Disk, kill: s.Kill, cutPower: s.CutPower, halfWay: s.HalfWay}
	return system.Extract(ctx, dir, source.Options{
		UserAgent: s.UserAgent, Transport: s.Transport, Started: s.pace.start, Progress: s.pace.progress,
	})
}

// MakeImage implements Trees.
func (*Simulated) MakeImage(image, _, _ string) error { return os.WriteFile(image, nil, 0o644) }

// FillImage implements Trees: the image is an archive.
func (s *Simulated) FillImage(image, tree, _ string) error {
	s.pace.reached(source.OncePacking)
	return source.Pack(tree, image, s.Writable())
}

// CopyKernel implements Trees: a label says whether the image has a kernel.
func (s *Simulated) CopyKernel(string, string) error {
	if s.pace.labels[source.LabelKernel] == source.NoKernel {
		return errors.New("no Kernel file found")
	}
	return nil
}

// MakeRecovery implements Trees: it copies the image of the snapshot that is mounted at the target.
func (s *Simulated) MakeRecovery(image, target string, _ RecoveryImage) error {
	mounted, _, err := s.MountedAt(target)
	if err != nil {
		return err
	}
	loops, err := s.Loops()
	if err != nil {
		return err
	}
	for _, loop := range loops {
		if loop.Name != mounted.Device {
			continue
		}
		content, err := os.ReadFile(s.Path(loop.File))
		if err != nil {
			return fmt.Errorf("deploying recovery system: %w", err)
		}
		return os.WriteFile(image, content, 0o644)
	}
	return fmt.Errorf("nothing is mounted at %s", target)
}

// RunStage implements Host: the hooks in the new tree require the boot assessment of the next boot. A label makes a stage fail.
func (s *Simulated) RunStage(_ context.Context, stage string, _ []string) error {
	if s.pace == nil {
		return nil // before the labels are known
	}
	switch stage {
	case "after-upgrade-chroot":
		s.pace.reached(source.OnceInHook)
	case "post-upgrade":
		s.pace.reached(source.OnceUnrecorded)
	}
	if strings.HasSuffix(stage, "-chroot") {
		if err := s.requireCheck(); err != nil {
			return err
		}
	}
	if stage != s.pace.labels[source.LabelFailingStage] {
		return nil
	}
	if s.Log != nil {
		s.Log.Error("no cache\n : failed to run exit 3: exit status 3")
		s.Log.Error("1 error occurred:\n\t* failed to run exit 3: exit status 3\n\n")
	}
	return errors.New("failed to run exit 3: exit status 3")
}

// requireCheck is the hook of the boot assessment: the next boot of the active entry is on trial.
func (s *Simulated) requireCheck() error {
	env, err := grub.Read(s.GrubEnv())
	if err != nil {
		return err
	}
	env.Set(grub.BootAssessmentCheck, grub.Yes)
	env.Unset(grub.LastBootAttempt)
	return env.Write(s.GrubEnv())
}

// Chroot implements Host.
func (*Simulated) Chroot(_ string, do func() error) error { return do() }

// SetVariables implements Host.
func (*Simulated) SetVariables(file string, pairs ...string) error {
	env, err := grub.Read(file)
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		env.Set(pairs[i], pairs[i+1])
	}
	return env.Write(file)
}

// InstallBootloader implements Host.
func (*Simulated) InstallBootloader(string) error { return nil }
