// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/install"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
)

const (
	// overhead is what an image has above the size of its files, in MiB. Source: elemental-toolkit v2.3.2, constants.ImgOverhead.
	overhead = 256
	// sourceDir and transitionDir are where images are mounted that are copied from, and to.
	sourceDir     = "/run/elemental/imgsrc"
	transitionDir = "/run/elemental/transition"
)

// excluded is what a recovery system does not have of its tree. A snapshot has it: rsync takes the CLI's patterns for others.
var excluded = []string{".snapshots", "mnt/*", "proc/*", "sys/*", "dev/*", "tmp/*", "run/*", "host", "etc/resolv.conf"}

// Deploy implements install.Trees.
func (m *Machine) Deploy(ctx context.Context, system source.Source, dir string) (digest string, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	switch system.Kind {
	case source.OCI:
		digest, err = m.deployImage(ctx, system, dir)
	case source.Dir:
		err = m.sync(system.Value, dir, "--delete")
	case source.File:
		err = m.deployFile(system.Value, dir)
	default:
		err = errors.New("unknown image source type")
	}
	if err != nil {
		return "", err
	}
	return digest, makeDirs(dir)
}

func (m *Machine) deployImage(ctx context.Context, system source.Source, dir string) (string, error) {
	image, err := system.Pull(ctx, source.Options{})
	if err != nil {
		return "", err
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	tree := mutate.Extract(image)
	return digest.String(), errors.Join(unpack(tree, dir), tree.Close())
}

func (m *Machine) deployFile(image, dir string) error {
	loop, err := m.Attach(image)
	if err != nil {
		return err
	}
	if err := m.Mount(disk.Mount{Device: loop, Target: sourceDir, Options: "auto,ro"}); err != nil {
		return errors.Join(err, m.Detach(loop))
	}
	err = m.sync(sourceDir, dir, "--delete")
	return errors.Join(err, m.Unmount(sourceDir), m.Detach(loop))
}

// sync copies the content of a directory to another.
func (m *Machine) sync(from, to string, more ...string) error {
	m.log.Info("Starting rsync...")
	flags := append([]string{"--progress", "--partial", "--human-readable", "--archive", "--xattrs", "--acls", "--filter=-x security.selinux"}, more...)
	if err := m.run("rsync", append(flags, from+"/", to+"/")...); err != nil {
		m.log.Errorf("rsync finished with errors: %v", err)
		return err
	}
	m.log.Info("Finished syncing")
	return nil
}

// makeDirs makes the directories that a tree may lack.
func makeDirs(tree string) error {
	var errs error
	for _, dir := range []string{"run", "dev", "boot", "oem", "system", "etc/elemental/config.d", "tmp"} {
		errs = errors.Join(errs, os.MkdirAll(filepath.Join(tree, dir), 0o777))
	}
	for _, dir := range []string{"proc", "sys"} {
		errs = errors.Join(errs, os.MkdirAll(filepath.Join(tree, dir), 0o555))
	}
	return errors.Join(errs, os.Chmod(filepath.Join(tree, "tmp"), 0o777|os.ModeSticky))
}

// MakeImage implements install.Trees. The file is sparse: what does not fit on its partition is lost when it is written.
func (m *Machine) MakeImage(image, tree, label string) error {
	return m.makeImage(image, tree, "ext2", label)
}

func (m *Machine) makeImage(image, tree, as, label string) error {
	m.log.Infof("Creating image %s from rootDir %s", image, tree)
	var size int64
	err := filepath.WalkDir(tree, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		return err
	}
	file, err := os.Create(image)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Truncate((size>>20+1+overhead)<<20), file.Close()); err != nil {
		return err
	}
	if err := m.makeFileSystem(as, label, image); err != nil {
		m.log.Errorf("failed formatting file %s with %s", image, as)
		return errors.Join(err, os.Remove(image))
	}
	return nil
}

// FillImage implements install.Trees.
func (m *Machine) FillImage(_, tree, target string) error {
	m.log.Infof("Sync %s to %s", tree, target)
	if err := m.sync(tree, target); err != nil {
		m.log.Errorf("failed syncing data to the target loop image: %v", err)
		return err
	}
	return makeDirs(target)
}

// CopyKernel implements install.Trees. The files keep their names, and get those by which GRUB finds them.
func (m *Machine) CopyKernel(target, dir string) error {
	kernel, err := findKernel(target)
	if err != nil {
		return err
	}
	initrd, err := findFile(target, "/boot/elemental.initrd*", "/boot/initrd*", "/boot/initramfs*")
	if err != nil {
		return fmt.Errorf("No initrd file found: %w", err) //nolint:staticcheck // as the CLI says it
	}
	for _, file := range []string{kernel, initrd, filepath.Join(target, "etc/elemental/bootargs.cfg")} {
		if err := copyFile(file, filepath.Join(dir, filepath.Base(file))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name, of := range map[string]string{"vmlinuz": kernel, "linux": kernel, "initrd": initrd} {
		if err := os.Symlink(filepath.Base(of), filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// findKernel finds the kernel of a tree that also has its modules.
func findKernel(tree string) (string, error) {
	kernel, err := findFile(tree, "/boot/uImage*", "/boot/Image*", "/boot/zImage*", "/boot/vmlinuz*", "/boot/image*")
	if err != nil {
		return "", fmt.Errorf("no Kernel file found: %w", err)
	}
	versions, err := os.ReadDir(filepath.Join(tree, "lib/modules"))
	if err != nil {
		return "", fmt.Errorf("failed reading modules directory: %w", err)
	}
	if !slices.ContainsFunc(versions, func(e fs.DirEntry) bool { return strings.Contains(kernel, e.Name()) }) {
		return "", fmt.Errorf("could not determine the version of kernel %s", kernel)
	}
	return kernel, nil
}

// MakeRecovery implements install.Trees.
func (m *Machine) MakeRecovery(image, target string, of install.RecoveryImage) error {
	if of.FS == "squashfs" {
		m.log.Infof("Creating squashfs image for file %s", image)
		return m.run("mksquashfs", append([]string{target, image, "-b", "1024k", "-wildcards", "-e"}, excluded...)...)
	}
	if err := m.makeImage(image, target, of.FS, of.Label); err != nil {
		return err
	}
	loop, err := m.Attach(image)
	if err != nil {
		return err
	}
	if err := m.Mount(disk.Mount{Device: loop, Target: transitionDir, Options: "rw"}); err != nil {
		return errors.Join(err, m.Detach(loop))
	}
	return errors.Join(m.FillImage(image, target, transitionDir), m.Unmount(transitionDir), m.Detach(loop))
}

// findFile finds the first file of a tree that matches one of the patterns. Links lead to files of the tree.
func findFile(tree string, patterns ...string) (string, error) {
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(tree, pattern))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return resolve(tree, found[0])
		}
	}
	return "", fmt.Errorf("failed to find binary matching %v in %v", patterns, tree)
}

// resolve follows links within a tree.
func resolve(tree, path string) (string, error) {
	for range 4 {
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link
		}
		if filepath.IsAbs(target) {
			path = filepath.Join(tree, target)
		} else {
			path = filepath.Join(filepath.Dir(path), target)
		}
	}
	return "", fmt.Errorf("can't resolve this path '%s', too many nested links", path)
}

// copyFile copies a file, with its mode, and makes its directory.
func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(to), 0o777), os.WriteFile(to, content, info.Mode().Perm()))
}
