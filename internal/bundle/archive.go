// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/redact"
)

// errorsFile lists what could not be read.
const errorsFile = "errors.txt"

// archive are the files of a bundle, by their names.
type archive struct {
	files  map[string][]byte
	errors []string
}

func newArchive() *archive { return &archive{files: map[string][]byte{}} }

// fail notes that a part is missing. The others are written all the same.
func (a *archive) fail(part string, err error) {
	a.errors = append(a.errors, redact.Text(fmt.Sprintf("%s: %v", part, err)))
}

// write writes the same bytes for the same files: in the order of their names, without times.
func (a *archive) write(to io.Writer) error {
	slices.Sort(a.errors)
	if len(a.errors) > 0 {
		a.files[errorsFile] = []byte(strings.Join(a.errors, "\n") + "\n")
	}
	compressed := gzip.NewWriter(to)
	files := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		content := a.files[name]
		header := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), ModTime: time.Unix(0, 0)}
		if err := files.WriteHeader(header); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		if _, err := files.Write(content); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	if err := files.Close(); err != nil {
		return fmt.Errorf("writing the archive: %w", err)
	}
	if err := compressed.Close(); err != nil {
		return fmt.Errorf("compressing the archive: %w", err)
	}
	return nil
}
