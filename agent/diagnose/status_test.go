// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnose_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/diagnose"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// deadAPI answers nobody.
const deadAPI = "https://127.0.0.1:1/r"

func (m *machine) status() string {
	GinkgoHelper()
	out := &bytes.Buffer{}
	Expect(diagnose.Status(out, m.Subject)).To(Succeed())
	return out.String()
}

var _ = Describe("Status", func() {
	var m *machine
	BeforeEach(func() { m = newMachine(deadAPI, "", "T") })

	It("shows the key that the API knows the host by", func() {
		own := m.identify()
		key, err := own.PublicKey()
		Expect(err).NotTo(HaveOccurred())
		Expect(m.status()).To(And(MatchRegexp("Name: +"+own.Name), ContainSubstring("Key:           "+wire.KeyFingerprint(key)+"\n"),
			MatchRegexp("Waits for: +the API to register it"), MatchRegexp("Last attempt: +none")))
	})

	It("makes no key where there is none", func() {
		Expect(m.status()).To(MatchRegexp("Key: +none in .*\n(.*\n)*Waits for: +its registration"))
		Expect(filepath.Join(m.Host.Path(workDir), identity.KeyFile)).NotTo(BeAnExistingFile())
	})

	It("tells what it can without a configuration", func() {
		Expect(os.Remove(m.ConfigPath)).To(Succeed())
		own := m.identify()
		Expect(m.status()).To(And(MatchRegexp("Name: +"+own.Name), MatchRegexp("Registration: +unknown: reading configuration")))
	})

	DescribeTable("says what the host waits for",
		func(file, content, waits string) {
			m.identify()
			write(filepath.Join(m.Host.Path(workDir), "registered.json"), "{}")
			write(filepath.Join(m.Host.Path(workDir), file), content)
			Expect(m.status()).To(MatchRegexp("Waits for: +" + waits + "\n"))
		},
		Entry("nothing", "bootstrap.json", "{}", "a new desired state from the API"),
		Entry("a reset", "reset.json", "{}", "its reset in the recovery system"),
		Entry("fetched", "upgrade.json", `{"attempt":"a","phase":"Fetched"}`, "the API to allow writing the image"),
		Entry("reverting", "upgrade.json", `{"attempt":"a","phase":"Reverting"}`, "the reboot into the former OS"),
		Entry("over", "upgrade.json", `{"attempt":"a","phase":"RolledBack"}`, "a new desired state from the API"),
		Entry("not readable", "upgrade.json", `{`, "unknown: decoding .*upgrade.json: .*"),
	)

	It("shows the last attempt with a line for each check", func() {
		write(filepath.Join(m.Host.Path(workDir), "upgrade.json"), `{"attempt":"a1","phase":"RolledBack","imageURI":"oci:x","fromSnapshot":1,
			"wantedSnapshot":2,"message":"assessment failed: required check disk failed: full; units failed: b.service"}`)
		Expect(m.status()).To(And(MatchRegexp("Last attempt: +a1"), MatchRegexp("Phase: +RolledBack"), MatchRegexp("from 1 to 2"),
			MatchRegexp("Verdict: +assessment failed: required check disk failed: full; units failed: b.service\n"), Not(ContainSubstring("Checks"))))
		write(filepath.Join(m.Host.Path(workDir), "upgrade.json"), `{"attempt":"a1","phase":"RolledBack","message":"x","checks":[
			{"name":"kubelet","verdict":"Passed","since":"2026-01-02T03:04:05Z"},
			{"name":"required.d/10-disk","verdict":"Failed","since":"2026-01-02T03:04:06Z","exitCode":3,"output":"first; second\nfull"},
			{"name":"wanted.d/20-net","verdict":"TimedOut","since":"2026-01-02T03:05:06Z","output":"not done after 1m0s"}]}`)
		Expect(m.status()).To(HaveSuffix(`
  Checks:      Passed    kubelet, 2026-01-02T03:04:05Z
               Failed    required.d/10-disk, 2026-01-02T03:04:06Z, exit code 3
                         first; second
                         full
               TimedOut  wanted.d/20-net, 2026-01-02T03:05:06Z
                         not done after 1m0s
`))
	})
})

func unpack(path string) map[string]string {
	GinkgoHelper()
	file, err := os.Open(path)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	Expect(err).NotTo(HaveOccurred())
	archive, found := tar.NewReader(unzipped), map[string]string{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		Expect(err).NotTo(HaveOccurred())
		content, err := io.ReadAll(archive)
		Expect(err).NotTo(HaveOccurred())
		found[strings.TrimPrefix(header.Name, "elemental-support/")] = string(content)
	}
}

var _ = Describe("A support bundle", func() {
	const (
		token   = "registration-token-of-this-host"
		jwt     = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJtLTEifQ.c2lnbmF0dXJl"
		kubeadm = "abcdef.0123456789abcdef"
	)

	It("has what is to be known and no secret", func(ctx SpecContext) {
		m := newMachine(deadAPI, "", token)
		m.identify()
		key, err := os.ReadFile(filepath.Join(m.Host.Path(workDir), identity.KeyFile))
		Expect(err).NotTo(HaveOccurred())
		write(filepath.Join(m.Host.Path(workDir), "upgrade.json"), `{"attempt":"a1","imageURI":"oci:https://me:hunter2@r/x"}`)
		write(m.Host.Path("/oem/elemental/agent/bootstrap.yaml"), "bootstrap data "+kubeadm)
		write(m.Host.Path("/oem/grubenv"), "saved_entry=active\n")
		runner := &systemtest.Runner{}
		spilled := token + " Bearer " + jwt + " join " + kubeadm + "\n" + string(key)
		for _, command := range []string{"systemctl", "df", "losetup", "lsblk", "ip"} {
			runner.Say(command, "output of "+command+" "+spilled)
		}
		runner.Say("journalctl", "said "+spilled)
		for _, path := range []string{
			"/proc/cmdline", "/etc/os-release", "/run/initramfs/elemental-state/state.yaml", filepath.Join(workDir, "reset.json"), filepath.Join(workDir, "bootstrap.json"),
		} {
			write(m.Host.Path(path), spilled)
		}
		m.Host.Runner = runner

		path := filepath.Join(GinkgoT().TempDir(), "bundle.tar.gz")
		Expect(diagnose.WriteBundle(ctx, path, m.Subject)).To(Succeed())
		found := unpack(path)
		Expect(found).To(And(HaveKey("check.txt"), HaveKey("status.txt"), HaveKey("config.yaml"), HaveKey("work/upgrade.json"),
			HaveKeyWithValue("host/oem/grubenv", "saved_entry=active\n"), HaveKeyWithValue("commands/0-journalctl.txt", ContainSubstring("said REMOVED"))))
		Expect(found["config.yaml"]).To(ContainSubstring(deadAPI))
		for name, content := range found {
			secrets := append(strings.Split(strings.TrimSpace(string(key)), "\n")[1:], token, jwt, kubeadm, "hunter2", "bootstrap data")
			for _, secret := range secrets {
				Expect(content).NotTo(ContainSubstring(secret), name)
			}
		}
		information, err := os.Stat(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(information.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	})

	DescribeTable("has nothing that has the name of a secret", func(ctx SpecContext, said, left string) {
		m := newMachine(deadAPI, "", token)
		runner := &systemtest.Runner{}
		runner.Say("journalctl", said+"\nthe next line\n")
		m.Host.Runner = runner
		path := filepath.Join(GinkgoT().TempDir(), "bundle.tar.gz")
		Expect(diagnose.WriteBundle(ctx, path, m.Subject)).To(Succeed())
		journal := unpack(path)["commands/0-journalctl.txt"]
		Expect(journal).NotTo(ContainSubstring("hush"))
		Expect(journal).To(And(ContainSubstring(left), ContainSubstring("the next line")))
	},
		Entry("a variable", "K3S_TOKEN=hush", ""),
		Entry("a variable in quotes", `RKE2_TOKEN="hush hush"`, ""),
		Entry("a variable in single quotes", `password='hush hush'`, ""),
		Entry("an option", "k3s agent --token hush --server https://s", "--server https://s"),
		Entry("an option with =", "kubeadm join --certificate-key=hush x", " x"),
		Entry("JSON in a log", `msg="x {\"token\":\"hush\", \"name\":\"n\"}"`, "name"),
		Entry("camel case", "certificateKey: hush", ""),
		Entry("a kubeconfig", "client-key-data: LS0tLS1CRUdJTihush", ""),
		Entry("a PEM block that Kubernetes encoded", "x LS0tLS1CRUdJTiBhush y", " y"),
		Entry("a hash", "password_hash: $6$hush", ""),
		Entry("lines beneath a name", "token: |\n  hush\n  hush", ""),
		Entry("K3s's token", "with K10abcdef01::server:hush and", " and"),
		Entry("nothing of the kind", "the key of m-1 is known, the tokenizer ran", "the key of m-1 is known, the tokenizer ran"),
	)

	It("has what is left of a broken host, and replaces no file", func(ctx SpecContext) {
		m := newMachine(deadAPI, "", token)
		Expect(os.WriteFile(m.ConfigPath, []byte("registration: {token: "+token+"\n"), 0o600)).To(Succeed())
		m.Host.Runner = &systemtest.Runner{}
		path := filepath.Join(GinkgoT().TempDir(), "bundle.tar.gz")
		Expect(diagnose.WriteBundle(ctx, path, m.Subject)).To(Succeed())
		found := unpack(path)
		Expect(found["check.txt"]).To(ContainSubstring("FAILED  configuration"))
		Expect(found["config.yaml"]).NotTo(ContainSubstring(token))
		Expect(diagnose.WriteBundle(ctx, path, m.Subject)).To(MatchError(os.ErrExist))
	})
})
