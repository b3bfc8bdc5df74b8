// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Root is the folder with go.mod, at or above the working directory, which for a test is its
// package.
func Root() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for folder != filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
		folder = filepath.Dir(folder)
	}
	return "", errors.New("finding the repository: no go.mod above the working directory")
}
