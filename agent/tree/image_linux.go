// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// CompareSnapshot compares a snapshot, as it is on the disk, with its expected content: the page cache is dropped first. A snapshot is the
// directory of a subvolume, or an image with a file system. An image whose file system cannot be mounted is a Difference, as is a missing
// record. Progress, if not nil, is called with the bytes read and their total. The caller has to run in a mount namespace that ends with it.
func CompareSnapshot(ctx context.Context, runner system.Runner, lists Lists, snapshot string, progress func(done, total int64)) error {
	if err := forget(snapshot); err != nil {
		return err
	}
	info, err := os.Stat(snapshot)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return lists.compare(snapshot, progress)
	}
	return compareImage(ctx, runner, lists, snapshot, progress)
}

func compareImage(ctx context.Context, runner system.Runner, lists Lists, image string, progress func(done, total int64)) (err error) {
	root, err := os.MkdirTemp("", "snapshot-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(root)) }()
	if err := mount(ctx, runner, image, root); err != nil {
		return err
	}
	defer func() {
		_, unmounted := system.Check(context.WithoutCancel(ctx), runner, "umount", "--lazy", root)
		err = errors.Join(err, unmounted)
	}()
	return lists.compare(root, progress)
}

func (l Lists) compare(root string, progress func(done, total int64)) error {
	// The list is missing if another agent downloaded the image, or the cache was lost.
	downloaded, err := ReadDownloaded(l.Downloaded)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	recorded, err := os.Open(l.Recorded)
	if err != nil {
		return differ("the list of the files that were to be written: %s", err)
	}
	defer func() { _ = recorded.Close() }()
	total, err := RecordedBytes(recorded)
	if err != nil {
		return err
	}
	if _, err := recorded.Seek(0, io.SeekStart); err != nil {
		return err
	}
	comparison := Comparison{Recorded: recorded, Downloaded: downloaded}
	if progress != nil {
		done := int64(0)
		comparison.Read = func(bytes int64) {
			done += bytes
			progress(done, total)
		}
	}
	return comparison.With(root)
}

// unreadable are the errors of mount, in English, for a damaged or missing file system. Other errors, such as no free loop device, prove
// nothing about the image.
// Source: util-linux 2.38.1 and Linux 6.18, tested with truncated, empty and overwritten images.
var unreadable = []string{
	"wrong fs type", "can't read superblock", "probably corrupted filesystem", "Structure needs cleaning", "Input/output error",
}

func mount(ctx context.Context, runner system.Runner, image, root string) error {
	result, err := runner.Run(ctx, system.Command{Name: "mount", Args: []string{"-o", "ro,loop", image, root}, Env: []string{"LC_ALL=C"}})
	if err != nil {
		return fmt.Errorf("mounting %s: %w", image, err)
	}
	if result.ExitCode == 0 {
		return nil
	}
	said := strings.TrimSpace(result.Stderr)
	if slices.ContainsFunc(unreadable, func(each string) bool { return strings.Contains(said, each) }) {
		first, _, _ := strings.Cut(said, "\n")
		return differ("%s", first)
	}
	return fmt.Errorf("mounting %s: exit code %d: %s", image, result.ExitCode, said)
}

// forget drops the page cache of a file, after flushing it.
func forget(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	err = errors.Join(unix.Syncfs(int(file.Fd())), forgetRead(file), file.Close())
	if err != nil {
		return fmt.Errorf("dropping the page cache of %s: %w", path, err)
	}
	return nil
}

// forgetRead drops the page cache of a file that has been read.
func forgetRead(file *os.File) error {
	return unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
}
