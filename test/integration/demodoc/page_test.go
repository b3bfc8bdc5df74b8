// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package demodoc_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
)

// page is docs/demo.md, executed from top to bottom.
type page struct {
	lab *lab.Lab
	// left are the commands that have not been run.
	left []command
	// home is the working and the home directory of the shell.
	home string
	// here are the replacements for names that differ in the lab, as for strings.NewReplacer.
	here []string
	// exported are variables of the shell.
	exported []string
}

// command of the page.
type command struct {
	typed string
	// shown is the output that the page shows for it; empty for none.
	shown string
}

var block = regexp.MustCompile("(?ms)^```bash\n(.*?)^```$(?:\n\n```console\n(.*?)^```$)?")

// openPage prepares what a person who follows the page has: the repository, tools, a kubeconfig, a clusterctl
// configuration with the release.
func openPage(ctx context.Context, l *lab.Lab) *page {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(l.Root(), "docs", "demo.md"))
	Expect(err).NotTo(HaveOccurred())
	p := &page{lab: l, home: filepath.Join(l.Dir(), "demodoc")}
	for _, found := range block.FindAllStringSubmatch(string(content), -1) {
		p.left = append(p.left, command{typed: strings.TrimSpace(found[1]), shown: found[2]})
	}
	Expect(os.MkdirAll(filepath.Join(p.home, "iso"), 0o755)).To(Succeed())
	Expect(os.Symlink(filepath.Join(l.Root(), "test"), filepath.Join(p.home, "test"))).To(Succeed())
	p.writeRepository(ctx)
	p.here = []string{"192.168.122.10:30000", l.Registry.Host(), "192.168.122.50", l.Workload.Host()}
	p.exported = []string{
		"PATH=" + filepath.Join(l.Root(), "bin", "tools") + ":" + filepath.Join(l.Root(), "bin") + ":" + os.Getenv("PATH"),
		"HOME=" + p.home, "XDG_CONFIG_HOME=" + p.home, "CLUSTERCTL_DISABLE_VERSIONCHECK=true",
		"KUBECONFIG=" + lab.AdminKubeconfig(l.Management),
		"KUBERNETES_VERSION=" + scenario.KubernetesVersion,
	}
	return p
}

const tag = "v0.8.0"

// writeRepository adds the release to clusterctl's configuration.
func (p *page) writeRepository(ctx context.Context) {
	GinkgoHelper()
	release := filepath.Join(p.home, "release")
	for _, step := range [][]string{{"release.sh", release}, {"repository.sh", release, filepath.Join(p.home, "cluster-api")}} {
		command := exec.CommandContext(ctx, filepath.Join(p.lab.Root(), "hack", "release", step[0]), step[1:]...)
		command.Env = append(os.Environ(), "RELEASE_TAG="+tag)
		said, err := command.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(said))
	}
	p.record(ctx)
}

// inventory is the object by which "clusterctl init" records the provider, which the lab has started itself.
const inventory = `apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Provider
metadata:
  name: infrastructure-elemental
  namespace: default
  labels:
    clusterctl.cluster.x-k8s.io: ""
    clusterctl.cluster.x-k8s.io/core: inventory
    cluster.x-k8s.io/provider: infrastructure-elemental
providerName: elemental
type: InfrastructureProvider
version: ` + tag + "\n"

// record makes clusterctl find the provider in the management cluster.
func (p *page) record(ctx context.Context) {
	GinkgoHelper()
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api")
	list.Dir = p.lab.Root()
	folder, err := list.Output()
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(p.home, "inventory.yaml")
	Expect(os.WriteFile(file, []byte(inventory), 0o600)).To(Succeed())
	kinds := filepath.Join(strings.TrimSpace(string(folder)), "cmd", "clusterctl", "config", "manifest", "clusterctl-api.yaml")
	for _, args := range [][]string{
		{"apply", "-f", kinds}, {"wait", "--for=condition=Established", "crd/providers.clusterctl.cluster.x-k8s.io"}, {"apply", "-f", file},
	} {
		Expect(p.lab.Kubectl(ctx, args...)).Error().NotTo(HaveOccurred())
	}
}

// export sets variables of the shell.
func (p *page) export(variables ...string) { p.exported = append(p.exported, variables...) }

// rename sets the lab's name for a name of the page.
func (p *page) rename(name, here string) { p.here = append(p.here, name, here) }

// next runs the next command of the page, which has to begin with this text, and returns its output. If the page shows
// the output, it must have the same columns.
func (p *page) next(ctx context.Context, begins string) string {
	GinkgoHelper()
	Expect(p.left).NotTo(BeEmpty(), "the page ends before %q", begins)
	shown := p.left[0].shown
	said, err := p.run(ctx, begins)
	Expect(err).NotTo(HaveOccurred(), said)
	if shown != "" {
		Expect(columns(said)).To(Equal(columns(shown)), said)
	}
	return said
}

// nextTree does the same, and waits until the output is what the page shows: conditions may be updated a moment later.
func (p *page) nextTree(ctx context.Context, begins string) {
	GinkgoHelper()
	Expect(p.left).NotTo(BeEmpty(), "the page ends before %q", begins)
	tree := p.left[0]
	p.next(ctx, begins)
	Eventually(func() (string, error) {
		said, err := p.enter(ctx, tree)
		return known(said), err
	}).Should(Equal(known(tree.shown)))
}

// columns are the first line of a table.
func columns(table string) []string {
	first, _, _ := strings.Cut(table, "\n")
	return strings.Fields(first)
}

var (
	random = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
	age    = regexp.MustCompile(`\b\d+[smh](\d+s)?\b`)
)

// known is an output without what differs each time: ages, name suffixes, and column widths.
func known(said string) string {
	said = age.ReplaceAllString(random.ReplaceAllString(said, "-RANDOM"), "AGE")
	return strings.Join(strings.Fields(said), " ")
}

// nextOnWorkload runs the next command against the workload cluster.
func (p *page) nextOnWorkload(ctx context.Context, begins string) string {
	GinkgoHelper()
	former := p.exported
	defer func() { p.exported = former }()
	p.exported = append(p.exported[:len(p.exported):len(p.exported)], "KUBECONFIG="+lab.AdminKubeconfig(p.lab.Workload))
	return p.next(ctx, begins)
}

func (p *page) run(ctx context.Context, begins string) (string, error) {
	GinkgoHelper()
	next := p.left[0]
	Expect(next.typed).To(HavePrefix(begins), "the next command of the page")
	p.left = p.left[1:]
	return p.enter(ctx, next)
}

// enter runs a command in the shell of the page. One that watches is ended when it has printed as many lines as the
// page shows, as a person would end it.
func (p *page) enter(ctx context.Context, entered command) (string, error) {
	typed := strings.NewReplacer(p.here...).Replace(entered.typed)
	GinkgoWriter.Println("$", typed)
	watches := strings.HasSuffix(typed, " -w")
	if watches {
		typed = "exec " + typed // so that it is killed, and not only the shell
	}
	shell := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", typed)
	shell.Dir, shell.Env = p.home, p.exported
	output := &bytes.Buffer{}
	shell.Stdout, shell.Stderr = output, output
	if watches {
		return watch(shell, max(1, strings.Count(entered.shown, "\n")))
	}
	err := shell.Run()
	GinkgoWriter.Println(output.String())
	return output.String(), err
}

// watch returns the first lines that a command prints.
func watch(shell *exec.Cmd, lines int) (string, error) {
	shell.Stdout = nil
	output, err := shell.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := shell.Start(); err != nil {
		return "", err
	}
	defer func() {
		_ = shell.Process.Kill()
		_ = shell.Wait() // it was killed
	}()
	said, printed := "", bufio.NewReader(output)
	for range lines {
		line, err := printed.ReadString('\n')
		GinkgoWriter.Print(line)
		if err != nil {
			return said, err
		}
		said += line
	}
	return said, nil
}

// file that a command wrote into the home directory.
func (p *page) file(name string) string { return filepath.Join(p.home, name) }
