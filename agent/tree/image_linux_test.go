// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/tree"
)

// mounting is a runner whose mount fails, or cannot be started.
type mounting struct {
	says string
	err  error
}

func (m mounting) Run(context.Context, system.Command) (system.Result, error) {
	return system.Result{ExitCode: 32, Stderr: m.says}, m.err
}

var _ = DescribeTable("An image that cannot be mounted",
	func(ctx SpecContext, runner mounting, broken bool) {
		image := filepath.Join(GinkgoT().TempDir(), "snapshot.img")
		Expect(os.WriteFile(image, []byte("x"), 0o600)).To(Succeed())
		err := tree.CompareSnapshot(ctx, runner, tree.Lists{}, image, nil)
		Expect(err).To(HaveOccurred())
		difference := (*tree.Difference)(nil)
		Expect(errors.As(err, &difference)).To(Equal(broken), "%v", err)
	},
	Entry("is broken when it is no file system",
		mounting{says: "mount: /m: wrong fs type, bad option, bad superblock on /dev/loop5, missing codepage or helper program, or other error.\n dmesg(1) may"}, true),
	Entry("is broken when it is cut off", mounting{says: "mount: /m: can't read superblock on /dev/loop5."}, true),
	Entry("is broken when its tables are", mounting{says: "mount: /m: mount(2) system call failed: Structure needs cleaning."}, true),
	Entry("may be whole when no loop device is free", mounting{says: "mount: /m: failed to setup loop device for /x/snapshot.img."}, false),
	Entry("may be whole when memory is short", mounting{says: "mount: /m: mount(2) system call failed: Cannot allocate memory."}, false),
	Entry("may be whole when mount cannot be started", mounting{err: errors.New("no such file")}, false),
)
