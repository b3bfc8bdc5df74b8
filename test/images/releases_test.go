// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// forged is a version whose files do not match their checksums.
const forged = "v1.0.0"

// rke2Unit is as in RKE2's archive.
const rke2Unit = "[Service]\nEnvironmentFile=-/usr/local/lib/systemd/system/%N.env\nExecStart=/usr/local/bin/rke2 server\n"

// serveReleases serves the files of dl.k8s.io and github.com, and returns its URL. A program is a script that prints
// its URL.
func serveReleases() string {
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		_, _ = writer.Write(answer(request.URL.Path))
	}))
	DeferCleanup(server.Close)
	return server.URL
}

func answer(asked string) []byte {
	file := path.Base(asked)
	switch {
	case strings.HasPrefix(file, "sha256sum-"):
		lines := ""
		for _, each := range []string{"k3s", "rke2.linux-amd64.tar.gz"} {
			lines += checksum(path.Join(path.Dir(asked), each)) + "  " + each + "\n"
		}
		return []byte(lines)
	case strings.HasSuffix(file, ".sha256sum"):
		named := strings.TrimSuffix(asked, ".sha256sum")
		return []byte(checksum(named) + "  " + path.Base(named) + "\n")
	case strings.HasSuffix(file, ".sha256"):
		return []byte(checksum(strings.TrimSuffix(asked, ".sha256")))
	}
	return content(asked)
}

func checksum(asked string) string {
	if strings.Contains(asked, forged) {
		asked += " before somebody changed it"
	}
	return fmt.Sprintf("%x", sha256.Sum256(content(asked)))
}

func content(asked string) []byte {
	file := path.Base(asked)
	switch {
	case strings.HasPrefix(file, "containerd-"):
		return archive(asked, "bin/containerd", "bin/ctr")
	case strings.HasPrefix(file, "cni-plugins-"):
		return archive(asked, "bridge", "loopback")
	case strings.HasPrefix(file, "crictl-"):
		return archive(asked, "crictl")
	case strings.HasPrefix(file, "rke2."):
		return archive(asked, "bin/rke2", "lib/systemd/system/rke2-server.service", "lib/systemd/system/rke2-agent.service")
	}
	return script(asked)
}

func script(asked string) []byte { return []byte("#!/bin/sh\necho " + asked + "\n") }

func archive(asked string, files ...string) []byte {
	GinkgoHelper()
	packed := &bytes.Buffer{}
	compressed := gzip.NewWriter(packed)
	writer := tar.NewWriter(compressed)
	for _, file := range files {
		body, mode := script(asked), int64(0o755)
		if strings.HasSuffix(file, ".service") {
			body, mode = []byte(rke2Unit), 0o644
		}
		Expect(writer.WriteHeader(&tar.Header{Name: file, Mode: mode, Size: int64(len(body)), Uid: 1001, Gid: 1001})).To(Succeed())
		_, err := writer.Write(body)
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(writer.Close()).To(Succeed())
	Expect(compressed.Close()).To(Succeed())
	return packed.Bytes()
}
