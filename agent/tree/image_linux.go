// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// CompareImage compares a manifest with the file system in an image, as it is on the disk: what the kernel remembers of it is
// dropped first. An image that cannot be mounted is a Difference, as is a manifest that is not there. Whoever calls it has a mount
// namespace that ends with it.
func CompareImage(ctx context.Context, runner system.Runner, manifest, image string) (err error) {
	if err := forget(image); err != nil {
		return err
	}
	root, err := os.MkdirTemp("", "snapshot-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(root)) }()
	if _, err := system.Check(ctx, runner, "mount", "-o", "ro,loop", image, root); err != nil {
		return cmp.Or(ctx.Err(), differ("%s", err))
	}
	defer func() {
		_, unmounted := system.Check(context.WithoutCancel(ctx), runner, "umount", "--lazy", root)
		err = errors.Join(err, unmounted)
	}()
	listed, err := os.Open(manifest)
	if err != nil {
		return differ("the list of the files that were to be written: %s", err)
	}
	defer func() { _ = listed.Close() }()
	return Compare(listed, root)
}

// forget drops what is cached of a file, which has to be on the disk for that.
func forget(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	err = errors.Join(unix.Syncfs(int(file.Fd())), unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED), file.Close())
	if err != nil {
		return fmt.Errorf("dropping what is cached of %s: %w", path, err)
	}
	return nil
}
