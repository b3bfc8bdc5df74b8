// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// label, of SELinux, is not compared: the CLI does not copy it, but labels the files of a snapshot by the policy in the snapshot.
// Source: elemental-toolkit v2.3.2, SyncData and ApplySELinuxLabels.
const label = "security.selinux"

// attributes returns a hash of a file's extended attributes, which include capabilities and ACLs; empty without any.
func attributes(path string) (string, error) {
	names, err := grow(func(to []byte) (int, error) { return unix.Llistxattr(path, to) })
	if errors.Is(err, unix.ENOTSUP) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("listing the extended attributes of %s: %w", path, err)
	}
	all := slices.DeleteFunc(strings.Split(string(names), "\x00"), func(name string) bool { return name == "" || name == label })
	if len(all) == 0 {
		return "", nil
	}
	slices.Sort(all)
	hash := sha256.New()
	for _, name := range all {
		value, err := grow(func(to []byte) (int, error) { return unix.Lgetxattr(path, name, to) })
		if err != nil {
			return "", fmt.Errorf("reading the extended attribute %s of %s: %w", name, path, err)
		}
		_, _ = fmt.Fprintf(hash, "%q %q\n", name, value)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// grow reads a value of unknown size: read returns the size for an empty buffer.
func grow(read func(to []byte) (int, error)) ([]byte, error) {
	for {
		size, err := read(nil)
		if err != nil || size == 0 {
			return nil, err
		}
		buffer := make([]byte, size)
		size, err = read(buffer)
		if errors.Is(err, unix.ERANGE) {
			continue
		}
		return buffer[:max(size, 0)], err
	}
}
