// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"maps"
	"path/filepath"
	"sync"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
)

// KnownFile is the name of the file with Known in the work directory.
const KnownFile = "known-images.json"

// InstalledFile is the name of the file in the work directory with the images that the host was installed with or reset to, by digest, as in
// Known. It is written at installation or reset, and restored at every boot.
const InstalledFile = "installed-images.json"

// Known are facts about the host that cannot be observed again, and outlive attempts.
type Known struct {
	// Images maps a digest to the URI that the operator wrote. The OS itself records the loopback
	// address from which its image was pulled.
	Images map[string]string `json:"images,omitempty"`
	// FreeBytes as measured when the last attempt was prepared, in whole MiB.
	FreeBytes int64 `json:"freeBytes,omitempty"`
}

// knowledge guards Known.
type knowledge struct {
	workDir string
	lock    sync.Mutex
	known   Known
}

// get returns what is known.
func (k *knowledge) get() Known {
	k.lock.Lock()
	defer k.lock.Unlock()
	return Known{Images: maps.Clone(k.known.Images), FreeBytes: k.known.FreeBytes}
}

func (k *knowledge) update(update func(*Known)) error {
	k.lock.Lock()
	defer k.lock.Unlock()
	update(&k.known)
	return writeKnown(k.workDir, k.known)
}

func readKnown(workDir string) (Known, error) {
	known := Known{}
	_, err := system.ReadJSON(filepath.Join(workDir, KnownFile), &known)
	if err != nil {
		return known, err
	}
	images := map[string]string{}
	if _, err := system.ReadJSON(filepath.Join(workDir, InstalledFile), &images); err != nil {
		return known, err
	}
	maps.Copy(images, known.Images)
	known.Images = images
	return known, nil
}

func writeKnown(workDir string, known Known) error {
	return system.WriteJSON(filepath.Join(workDir, KnownFile), known)
}
