// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"go.yaml.in/yaml/v3"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/disk"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/cloudinit"
)

// engine boots a rig: the toolkit's engine runs its files, and a shell its commands, with the host's paths beneath the root. Of the host's
// programs, it has those that stand in for Kubernetes' and log their calls, and a few that change files.
type engine struct {
	*rig
	bin string
	// log is the engine's.
	log *gbytes.Buffer
	// ran are the scripts, as they were on the host, by their names.
	ran map[string]string
}

func newEngine(r *rig) *engine {
	e := &engine{rig: r, bin: GinkgoT().TempDir(), log: gbytes.NewBuffer(), ran: map[string]string{}}
	for _, name := range []string{"sh", "mkdir", "rm", "cat", "chmod", "basename", "date", "env"} {
		path, err := exec.LookPath(name)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.Symlink(path, filepath.Join(e.bin, name))).To(Succeed())
	}
	for _, name := range []string{"kubeadm", "systemctl", "curl", "kubectl", "crictl", "k3s"} {
		text := fmt.Sprintf("#!%s/sh\nprintf '%%s\\n' \"$(basename \"$0\") $*$HTTPS_PROXY$INSTALL_RKE2_METHOD\" >> %s\n", e.bin, r.path("/calls"))
		Expect(os.WriteFile(filepath.Join(e.bin, name), []byte(text), 0o700)).To(Succeed())
	}
	r.write("/calls", "")
	return e
}

// boot runs all stages of a boot, and returns those that failed.
func (e *engine) boot() []string {
	runner := &cloudinit.Runner{Disk: disk.Disk(e.root), Log: io.MultiWriter(GinkgoWriter, e.log), Sh: e.sh}
	return runner.Run(context.Background())
}

// absolute finds the paths in a command.
var absolute = regexp.MustCompile(`(^|[\s'"=>])/(\w)`)

// beneath puts all paths in a command beneath the root: nothing of the machine is changed.
func (e *engine) beneath(text string) string {
	return absolute.ReplaceAllString(text, "${1}"+e.root+"/${2}")
}

func (e *engine) sh(ctx context.Context, line string) (string, error) {
	if words := strings.Fields(line); words[0] == "sh" {
		path := words[1]
		text := e.read(path)
		e.ran[filepath.Base(path)] = text
		e.write("/copy", e.beneath(text))
		line = strings.Replace(line, path, "/copy", 1)
	}
	command := exec.CommandContext(ctx, filepath.Join(e.bin, "sh"), "-c", e.beneath(line))
	command.Dir, command.Env = e.root, []string{"PATH=" + e.bin}
	output, err := command.CombinedOutput()
	return string(output), err
}

// calls are those of the programs that log them.
func (e *engine) calls() []string {
	GinkgoHelper()
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(e.read("/calls"), e.root, "")), "\n")
}

func (e *engine) mode(path string) string {
	GinkgoHelper()
	info, err := os.Stat(e.path(path))
	Expect(err).NotTo(HaveOccurred())
	return fmt.Sprintf("%04o", info.Mode().Perm())
}

// cloudConfig is what cloud-init takes of the data.
type cloudConfig struct {
	Files []struct{ Path, Permissions, Encoding, Content string } `yaml:"write_files"`
	Run   []any                                                   `yaml:"runcmd"`
	Boot  []any                                                   `yaml:"bootcmd"`
}

func decode(encoding, content string) string {
	GinkgoHelper()
	if encoding == "" {
		return content
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(content), ""))
	Expect(err).NotTo(HaveOccurred())
	if !strings.HasPrefix(encoding, "gz") {
		return string(decoded)
	}
	reader, err := gzip.NewReader(bytes.NewReader(decoded))
	Expect(err).NotTo(HaveOccurred())
	unpacked, err := io.ReadAll(reader)
	Expect(err).NotTo(HaveOccurred())
	return string(unpacked)
}

// shellified is the script that cloud-init makes of commands.
func shellified(commands []any) string {
	text := "#!/bin/sh\n"
	for _, command := range commands {
		list, ok := command.([]any)
		if !ok {
			text += fmt.Sprintf("%s\n", command)
			continue
		}
		var quoted []string
		for _, each := range list {
			quoted = append(quoted, "'"+strings.ReplaceAll(fmt.Sprint(each), "'", `'\''`)+"'")
		}
		text += strings.Join(quoted, " ") + "\n"
	}
	return text
}

var _ = Describe("What arrives on a host by the toolkit's engine", func() {
	var e *engine
	ctx := context.Background()

	BeforeEach(func() { e = newEngine(newRig()) })

	bootstrap := func(data string) []string {
		GinkgoHelper()
		Expect(e.plugin.Bootstrap(ctx, wire.Bootstrap{Format: "cloud-config", Config: data})).To(Succeed())
		return e.boot()
	}

	DescribeTable("is the data of a bootstrap provider",
		func(name string, calls ...string) {
			raw, err := os.ReadFile("testdata/bootstrap/" + name + ".yaml")
			Expect(err).NotTo(HaveOccurred())
			data := cloudConfig{}
			Expect(yaml.Unmarshal(raw, &data)).To(Succeed())

			Expect(bootstrap(string(raw))).To(BeEmpty())
			for _, file := range data.Files {
				Expect(e.read(file.Path)).To(Equal(decode(file.Encoding, file.Content)), file.Path)
				if file.Permissions == "" {
					file.Permissions = "0644"
				}
				Expect(e.mode(file.Path)).To(Equal(file.Permissions), file.Path)
				Expect(e.mode(filepath.Dir(file.Path))).To(Equal("0755"), file.Path)
			}
			Expect(e.ran["runcmd"]).To(Equal(shellified(data.Run)))
			if len(data.Boot) > 0 {
				Expect(e.ran["bootcmd"]).To(Equal(shellified(data.Boot)))
			}
			Expect(e.calls()).To(Equal(calls))
			Expect(e.path("/oem/bootstrap-cloud-config.yaml")).NotTo(BeAnExistingFile())
			Expect(e.path("/run/elemental-agent/bootstrap/runcmd")).NotTo(BeAnExistingFile(), "it may hold a token")
		},
		Entry("kubeadm", "kubeadm-init",
			"kubeadm init --config /run/kubeadm/kubeadm.yamlhttp://proxy.example:3128",
			"crictl inspect --output go-template --template {{.info.pid}}http://proxy.example:3128"),
		Entry("RKE2", "rke2-server", "systemctl enable rke2-server.servicetar", "systemctl start rke2-server.servicetar",
			`kubectl get nodes -o go-template={{range .items}}{{.metadata.name}}{{"\n"}}{{end}}tar`),
		Entry("K3s", "k3s-agent", "curl -sfL https://get.k3s.io", "curl --write-out %{http_code} {{ $x }} 'quoted' http://192.0.2.10/"),
	)

	It("is what its commands make of quotes, variables and directories", func() {
		raw, err := os.ReadFile("testdata/bootstrap/kubeadm-init.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(bootstrap(string(raw))).To(BeEmpty())
		Expect(e.read("/etc/kubernetes/haproxy.cfg")).To(Equal("log-format \"{{ $labels.node }} $PATH `date` \\\"\n"))
		Expect(e.read("/etc/kubernetes/pid")).To(Equal("{{.State.Pid}} 2 it's kubernetes\n"))
		Expect(e.read("/etc/sudoers.d/90-cloud-init-users")).To(Equal("\n# User rules for operator\noperator ALL=(ALL) NOPASSWD:ALL\n"))
		Expect(e.mode("/etc/sudoers.d/90-cloud-init-users")).To(Equal("0440"))
		Expect(e.read("/etc/shadow")).To(Equal("operator:!:::::::\n"), "its password is not empty")
		Expect(e.read("/home/operator/.ssh/authorized_keys")).To(Equal("ssh-ed25519 AAAA operator\n"))
	})

	It("is in the order of cloud-init", func() {
		Expect(bootstrap(`#cloud-config
hostname: host-{{ .MachineID }}
bootcmd: ["echo bootcmd $(cat early) >> calls"]
write_files:
- {path: /early, content: "early\n"}
- {path: /late, content: "late\n", defer: true}
users: default
runcmd: ["cat early late >> calls", "cat etc/hostname >> calls"]
`)).To(BeEmpty())
		Expect(e.read("/calls")).To(Equal("bootcmd\nearly\nlate\nhost-{{ .MachineID }}\n"))
		Expect(e.read("/run/cluster-api/bootstrap-success.complete")).To(Equal("success\n"))
	})

	DescribeTable("is no success",
		func(data string) {
			Expect(bootstrap(data)).To(Equal([]string{"network"}))
			Expect(e.plugin.BootstrapState(ctx)).To(Equal(osplugin.BootstrapState{Placed: true}))
		},
		Entry("without a sentinel of the provider, where a later command succeeds",
			"runcmd: ['false && echo success > /run/cluster-api/bootstrap-success.complete', 'true']"),
		Entry("where a command ends the script", "runcmd: ['[ -f /run/sums ] || exit 1', 'mkdir -p /run/cluster-api', 'echo success > /run/cluster-api/bootstrap-success.complete']"),
		Entry("where the commands of a provider that writes no sentinel fail", "runcmd: ['false']"),
	)

	It("is nothing in the recovery system, which may be there to reset the host", func() {
		e.rig.boot(0, "recovery")
		Expect(bootstrap("write_files: [{path: /x, content: y}]\nruncmd: [kubeadm]")).To(BeEmpty())
		Expect(e.path("/x")).NotTo(BeAnExistingFile())
		Expect(e.read("/calls")).To(BeEmpty())
		Expect(e.path("/oem/bootstrap-cloud-config.yaml")).To(BeAnExistingFile())
	})

	DescribeTable("comes after the network stage, whatever other files have no step there",
		func(step string, place func()) {
			e.write("/oem/00_network.yaml", "stages: {network: [{commands: [\"echo network >> calls\"]}]}")
			e.write("/oem/01_other.yaml", "stages: {boot: []}")
			place()
			Expect(e.boot()).To(BeEmpty())
			Expect(strings.Split(e.read("/calls"), "\n")[0]).To(Equal("network"))
			Expect(e.read("/calls")).To(ContainSubstring("systemctl reboot"))
			Expect(e.log).To(gbytes.Say("Running stage: network.after"))
			Expect(e.log).To(gbytes.Say("Processing stage step '" + step))
		},
		Entry("a bootstrap", "runcmd", func() {
			Expect(e.plugin.Bootstrap(ctx, wire.Bootstrap{Format: "cloud-config", Config: "runcmd: [systemctl reboot]"})).To(Succeed())
		}),
		Entry("a reset", "Reset the host", func() {
			e.write("/usr/sbin/elemental-agent", "#!/bin/sh\n")
			Expect(os.Symlink(e.path("/usr/sbin/elemental-agent"), filepath.Join(e.bin, "elemental-agent"))).To(Succeed())
			Expect(os.Chmod(e.path("/usr/sbin/elemental-agent"), 0o700)).To(Succeed())
			Expect(e.plugin.TriggerReset(ctx)).To(Succeed())
			e.rig.boot(0, "recovery")
		}),
	)

	DescribeTable("has the mode of cloud-init",
		func(permissions, mode string) {
			Expect(bootstrap("write_files: [{path: /a/b/c, content: x, permissions: " + permissions + "}]")).To(BeEmpty())
			Expect(e.mode("/a/b/c")).To(Equal(mode))
			Expect(e.mode("/a/b")).To(Equal("0755"))
			Expect(e.mode("/a")).To(Equal("0755"))
		},
		Entry("of text", "'0640'", "0640"),
		Entry("of text with a prefix", "'0o600'", "0600"),
		Entry("of an octal number", "0640", "0640"),
		Entry("of a number", "420", "0644"),
		Entry("by default", "", "0644"),
	)

	It("sets the bits that the engine drops, and leaves directories that are there as they are", func() {
		Expect(os.MkdirAll(e.path("/private"), 0o700)).To(Succeed())
		Expect(bootstrap("write_files: [{path: /run/suid, content: x, permissions: '4755'}, {path: private/x, content: x}]")).To(BeEmpty())
		info, err := os.Stat(e.path("/run/suid"))
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode()).To(Equal(os.ModeSetuid | 0o755))
		Expect(e.mode("/private")).To(Equal("0700"))
	})

	It("is what the agent installs", func() {
		content := "a: {{ .b }}\r\n{{- \"\xff\x00\n"
		Expect(e.plugin.InstallFile(ctx, osplugin.File{Path: "/var/x/y/config.yaml", Mode: 0o600, Content: content})).To(Succeed())
		Expect(e.boot()).To(BeEmpty())
		Expect(e.read("/var/x/y/config.yaml")).To(Equal(content))
		Expect(e.mode("/var/x/y")).To(Equal("0755"))
	})

	It("is the registration's cloud-config as the engine takes it, templates included", func() {
		Expect(e.plugin.InstallCloudConfig(ctx, json.RawMessage(`{"write_files":[{"path":"/f","permissions":"0644","content":"{{ len .Values }}{{.Missing}}"}]}`))).To(Succeed())
		Expect(e.boot()).To(BeEmpty())
		Expect(e.read("/f")).To(MatchRegexp(`^\d+<no value>$`))
	})

	It("has the bytes of the data, whatever they are", func() {
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))
		pieces := []string{"{", "{", "{{", "}}", "{{-", "-}}", "/*", "*/", " ", "\n", "\r", "\t", "\"", "'", "`", "\\", "$x", ".A", "end", "range", "\x00", "\xff", "é"}
		contents, data := make([]string, 200), "write_files:\n"
		for i := range contents {
			for range random.IntN(30) {
				contents[i] += pieces[random.IntN(len(pieces))]
			}
			data += fmt.Sprintf("- {path: /f/%d, encoding: b64, content: %q}\n", i, base64.StdEncoding.EncodeToString([]byte(contents[i])))
		}
		Expect(bootstrap(data)).To(BeEmpty())
		for i, content := range contents {
			Expect(e.read("/f/" + strconv.Itoa(i))).To(Equal(content))
		}
	})
})
