// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package state_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/state"
)

var _ = Describe("state.yaml", func() {
	It("is read back as it was written, to every place", func() {
		f := &state.File{
			Date:        "2026-01-01T00:00:00Z",
			Snapshotter: state.LoopDevice(),
			State: &state.Partition{Label: "COS_STATE", Snapshots: map[int]*state.System{
				12: {Source: "dir:///", Active: true, FromAction: state.ActionInstall},
			}},
		}
		dir := GinkgoT().TempDir()
		a, b := filepath.Join(dir, "a/state.yaml"), filepath.Join(dir, "b/state.yaml")
		Expect(f.Write(a, b)).To(Succeed())
		Expect(state.Read(a)).To(Equal(f))
		Expect(state.Read(b)).To(Equal(f))
	})

	It("has defaults for what it does not contain", func() {
		path := filepath.Join(GinkgoT().TempDir(), "state.yaml")
		Expect(os.WriteFile(path, []byte("state: {label: X}\n"), 0o600)).To(Succeed())
		f, err := state.Read(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.Snapshotter.MaxSnaps).To(Equal(2))
	})
})
