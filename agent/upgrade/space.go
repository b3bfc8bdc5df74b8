// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"
)

const (
	// SpaceFactor is the estimated need of an image on the state partition before it is downloaded, as a multiple of its compressed size: it
	// expands two- to threefold, and the toolkit keeps the tree and the snapshot made from it at the same time. A full state partition
	// yields a corrupt snapshot and exit code 0.
	// Source: elemental-toolkit, loopdevice snapshotter; harvester/harvester#7457, #10687.
	SpaceFactor = 5

	// copies are the tree and the snapshot made from it; file systems need a metadataDivisor-th of them, and metadataBytes, in addition to
	// the blocks of their files.
	copies          = 2
	metadataDivisor = 16
	metadataBytes   = 32 * mebibyte

	mebibyte = 1 << 20
)

// needed returns how much space of the state partition an image needs.
func (m Marker) needed() int64 {
	if m.UnpackedBytes == 0 {
		return m.ImageBytes * SpaceFactor
	}
	return copies*(m.UnpackedBytes+m.UnpackedBytes/metadataDivisor) + metadataBytes
}

// short returns why an image does not fit; empty if it does.
func short(free int64, marker Marker) string {
	needed := marker.needed()
	if free >= needed {
		return ""
	}
	why := fmt.Sprintf("%d times its compressed size", SpaceFactor)
	if marker.UnpackedBytes > 0 {
		why = fmt.Sprintf("unpacked it has %d MiB, and there are two of it while it is written", roundUp(marker.UnpackedBytes))
	}
	return fmt.Sprintf("not enough space on the state partition: image %s needs %d MiB (%s), %d MiB are free: use a smaller image, or install the host "+
		"with a larger state partition", marker.Digest, roundUp(needed), why, free/mebibyte)
}

func roundUp(bytes int64) int64 { return (bytes + mebibyte - 1) / mebibyte }

// shortOfSpace stores the unpacked size of a downloaded image, and returns a message if the state partition is too full for it.
func (m *Machine) shortOfSpace(ctx context.Context) (string, error) {
	marker := m.Marker()
	unpacked, err := m.Images.Unpacked(ctx, marker.Digest)
	if err != nil {
		return "", fmt.Errorf("counting what the image takes unpacked: %w", err)
	}
	if unpacked != marker.UnpackedBytes {
		marker.UnpackedBytes = unpacked
		if err := m.save(marker); err != nil {
			return "", err
		}
	}
	space, err := m.Plugin.Space(ctx)
	if err != nil {
		return "", fmt.Errorf("measuring free space: %w", err)
	}
	if message := short(space.State, marker); message != "" {
		return message, nil
	}
	return m.shortOnRecovery(ctx, marker)
}

// packedDivisor: a compressed recovery system takes at least this part of the image's compressed size. It may be smaller than the layers,
// which contain files that upper layers replace, and may be compressed less. If it turns out not to fit, the CLI fails with a message.
const packedDivisor = 2

// shortOnRecovery returns a message if the recovery partition is too full for a second recovery system.
func (m *Machine) shortOnRecovery(ctx context.Context, marker Marker) (string, error) {
	if !marker.UpgradeRecovery {
		return "", nil
	}
	space, err := m.Plugin.RecoverySpace(ctx)
	if err != nil {
		return "", fmt.Errorf("measuring free space: %w", err)
	}
	needed := marker.ImageBytes / packedDivisor
	if !space.Packed {
		needed = max(needed, marker.UnpackedBytes+marker.UnpackedBytes/metadataDivisor)
	}
	if !space.Known || space.Free >= needed {
		return "", nil
	}
	return fmt.Sprintf("not enough space on the recovery partition: a recovery system of image %s needs at least %d MiB beside the present one, %d MiB are free: "+
		"set osVersion.upgradeRecovery to false, use a smaller image, or install the host with a larger recovery partition",
		marker.Digest, roundUp(needed), space.Free/mebibyte), nil
}
