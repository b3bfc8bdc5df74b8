// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// fakeKubelet records what a host does with its Node.
type fakeKubelet struct {
	mu     sync.Mutex
	log    []string
	boots  []kubelet.Boot
	refuse error
	// endpoints of the cluster's etcd.
	endpoints []string
}

func (k *fakeKubelet) note(what string, b kubelet.Boot) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.log = append(k.log, what)
	k.boots = append(k.boots, b)
}

// Refuse makes the API server refuse Nodes, until the error is nil.
func (k *fakeKubelet) Refuse(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refuse = err
}

func (k *fakeKubelet) refused() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.refuse
}

func (k *fakeKubelet) Register(_ context.Context, b kubelet.Boot) error {
	if err := k.refused(); err != nil {
		return err
	}
	k.note("register "+b.Join.NodeName, b)
	return nil
}

func (k *fakeKubelet) Run(ctx context.Context, b kubelet.Boot) {
	k.note("up "+b.OSImage, b)
	<-ctx.Done()
	k.note("gone", b)
}

func (k *fakeKubelet) ShutDown(_ context.Context, name string) error {
	k.note("shut down "+name, kubelet.Boot{})
	return nil
}

func (k *fakeKubelet) Address(string) string { return "127.0.0.1" }

func (k *fakeKubelet) UploadConfig(context.Context, []byte) error { return nil }

func (k *fakeKubelet) CreateServing(context.Context) error { return nil }

func (k *fakeKubelet) EtcdEndpoints(context.Context) ([]string, error) { return k.endpoints, nil }

func (k *fakeKubelet) Log() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string{}, k.log...)
}

func (k *fakeKubelet) last() kubelet.Boot {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.boots[len(k.boots)-1]
}

// events collects the events of a host.
type events struct {
	mu  sync.Mutex
	all []host.Event
}

func (e *events) add(event host.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *events) types() []host.EventType {
	e.mu.Lock()
	defer e.mu.Unlock()
	var types []host.EventType
	for _, each := range e.all {
		types = append(types, each.Type)
	}
	return types
}

func (e *events) count(t host.EventType) int {
	n := 0
	for _, each := range e.types() {
		if each == t {
			n++
		}
	}
	return n
}

// lab is a registry and a host with a stub of the agent.
type lab struct {
	*host.Host
	registry *image.Registry
	kubelet  *fakeKubelet
	events   *events
}

// newLab starts a host with the stub and waits for its first boot.
func newLab(change ...func(*host.Options)) *lab {
	GinkgoHelper()
	l := startLab(change...)
	l.awaitBoot(1)
	return l
}

func startLab(change ...func(*host.Options)) *lab {
	GinkgoHelper()
	registry, err := image.Start(image.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(registry.Close)
	dir := GinkgoT().TempDir()
	self, err := os.Executable()
	Expect(err).NotTo(HaveOccurred())
	agent := filepath.Join(dir, stubName)
	Expect(os.Symlink(self, agent)).To(Succeed())
	ca := filepath.Join(dir, "ca.pem")
	Expect(registry.WriteCA(ca)).To(Succeed())
	l := &lab{registry: registry, kubelet: &fakeKubelet{}, events: &events{}}
	o := host.Options{
		Name: "host-1", Root: filepath.Join(dir, "host-1"), Image: l.push("v1", image.OS{}).URI(),
		Double: self, Agent: agent, Config: []byte("agent: {}\n"), CABundle: ca, Kubelet: l.kubelet,
		BootTime: 20 * time.Millisecond, AssessmentTry: 10 * time.Millisecond, RestartDelay: 20 * time.Millisecond,
		OnEvent: l.events.add,
	}
	for _, c := range change {
		c(&o)
	}
	l.Host, err = host.New(GinkgoT().Context(), o)
	Expect(err).NotTo(HaveOccurred())
	Expect(l.Start(GinkgoT().Context())).To(Succeed())
	DeferCleanup(l.Stop)
	return l
}

func (l *lab) push(version string, o image.OS) image.Image {
	GinkgoHelper()
	o.Version, o.Bytes = version, 32<<10
	img, err := l.registry.Push(GinkgoT().Context(), "elemental/os", version, o)
	Expect(err).NotTo(HaveOccurred())
	return img
}

// run runs a command on the host, as the agent would.
func (l *lab) run(argv ...string) {
	GinkgoHelper()
	cmd := exec.CommandContext(GinkgoT().Context(), l.Path("/lab/bin", argv[0]), argv[1:]...)
	cmd.Env = []string{double.RootEnv + "=" + l.Path(), "SSL_CERT_FILE=" + filepath.Dir(l.Path()) + "/ca.pem"}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	Expect(cmd.Run()).To(Succeed(), out.String())
}

func (l *lab) upgrade(img image.Image) {
	GinkgoHelper()
	l.run("elemental", "upgrade", "--system", img.URI())
}

// awaitBoot waits until boot number n is up, has passed its assessment and runs the agent.
func (l *lab) awaitBoot(n int) host.Boot {
	GinkgoHelper()
	var last host.Boot
	Eventually(func(g Gomega) {
		boots := l.Boots()
		g.Expect(boots).To(HaveLen(n))
		last = boots[n-1]
		g.Expect(last.Outcome).To(Equal(host.Up))
		g.Expect(l.AgentPID()).NotTo(BeZero())
		g.Expect(l.said()).NotTo(BeEmpty())
		if last.HealthCheck {
			g.Expect(l.events.types()).To(ContainElement(host.AssessmentPassed))
			g.Expect(l.GrubEnv()).To(WithTransform(lastAttempt, BeEmpty()))
		}
	}).Should(Succeed())
	return last
}

// said is the output of the stub, over all boots: nothing while its file exists and is empty.
func (l *lab) said() []string {
	data, err := os.ReadFile(l.Path("/lab/stub"))
	if err != nil {
		return nil
	}
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
}

// outcomes are all boots as "mode=snapshot outcome".
func (l *lab) outcomes() []string {
	var all []string
	for _, b := range l.Boots() {
		all = append(all, b.Entry+" "+string(b.Outcome))
	}
	return all
}
