// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// It would be no test of an agent if the disk kept everything, or lost what is flushed.
var _ = Describe("The disk", func() {
	var d *disk

	BeforeEach(func() {
		dir := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(dir, "image"), make([]byte, mib), 0o600)).To(Succeed())
		var err error
		d, err = newDisk(filepath.Join(dir, "image"), dir, filepath.Join(dir, "sock"))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(d.close)
	})

	put := func(flags uint16, at int64, value byte, sectors int) {
		GinkgoHelper()
		_, err := d.do(nbdWrite, flags, at*sector, 0, bytes.Repeat([]byte{value}, sectors*sector))
		Expect(err).NotTo(HaveOccurred())
	}
	// get returns the first byte of some sectors.
	get := func(at int64, sectors int) (found []byte) {
		GinkgoHelper()
		content, err := d.do(nbdRead, 0, at*sector, sectors*sector, nil)
		Expect(err).NotTo(HaveOccurred())
		for i := range sectors {
			found = append(found, content[i*sector])
		}
		return found
	}

	It("shows what was written, and loses some of what was not flushed", func() {
		put(0, 0, 1, 64)
		_, err := d.do(nbdFlush, 0, 0, 0, nil)
		Expect(err).NotTo(HaveOccurred())
		put(0, 0, 2, 64)
		put(nbdFUA, 100, 3, 1)
		Expect(get(0, 64)).To(Equal(bytes.Repeat([]byte{2}, 64)))
		d.cut()
		_, err = d.do(nbdRead, 0, 0, sector, nil)
		Expect(err).To(HaveOccurred(), "without power")
		lost, of, err := d.powerOn(1)
		Expect(err).NotTo(HaveOccurred())
		Expect(of).To(Equal(65))
		Expect(lost).To(And(BeNumerically(">", 0), BeNumerically("<", 64)))
		Expect(bytes.Count(get(0, 64), []byte{1})).To(Equal(lost), "they have what was flushed before")
		Expect(bytes.Count(get(0, 64), []byte{2})).To(Equal(64 - lost))
		Expect(get(100, 1)).To(Equal([]byte{3}), "it was demanded to be durable")
	})
})
