// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin/dummy"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system/systemtest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
	labimage "github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

var _ = Describe("A host that runs from live media", func() {
	var (
		api    *apitest.API
		w      *worker
		runner *systemtest.Runner
		images agent.Images
	)

	BeforeEach(func() {
		api = apitest.New()
		DeferCleanup(api.Close)
		api.SetConfig(`{"cloudConfig":{"users":[]},"elemental":{"install":{"device":"/dev/vda","systemUri":"oci:os:v1"}}}`)
		w, runner, images = newWorker(api), &systemtest.Runner{}, dummy.Images{}
		w.config.Agent.OSPlugin, w.config.Agent.PostInstall.Reboot = config.PluginElemental, true
		live := filepath.Join(w.root, "run", "elemental", "live_mode")
		Expect(os.MkdirAll(filepath.Dir(live), 0o755)).To(Succeed())
		Expect(os.WriteFile(live, nil, 0o600)).To(Succeed())
	})

	// call calls the agent once, until it ends, reboots the host or has taken too long.
	call := func(do func(*agent.Agent, context.Context) error) error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		runner.On("systemctl reboot", func(system.Command) system.Result {
			cancel() // the host goes down
			return system.Result{}
		})
		host := system.NewHost(w.root)
		host.Runner = runner
		created, err := agent.New(agent.Options{
			Config: w.config, ConfigPath: filepath.Join(w.root, "config.yaml"), Host: host, Images: images,
			Log: slog.New(slog.NewTextHandler(GinkgoWriter, nil)),
		})
		Expect(err).NotTo(HaveOccurred())
		return do(created, ctx)
	}
	registerAndInstall := func(a *agent.Agent, ctx context.Context) error { return a.Register(ctx, true) }
	key := func() string {
		content, err := os.ReadFile(filepath.Join(w.root, w.config.Agent.WorkDir, "private.key"))
		Expect(err).NotTo(HaveOccurred())
		return string(content)
	}
	expectTakenAlong := func(command system.Command) {
		env := strings.Join(command.Env, "\n")
		Expect(env).To(And(ContainSubstring("ELEMENTAL_INSTALL_TARGET=/dev/vda"), ContainSubstring("ELEMENTAL_INSTALL_SYSTEM=oci:dummy/os@"+dummy.Digest("oci:os:v1"))))
		for _, file := range []string{
			"set-hostname.yaml", "set-file-hostname.yaml", "set-file-private-key.yaml", "set-file-config-yaml.yaml", "set-cloud-config.yaml",
			"set-file-installed-images-json.yaml",
		} {
			Expect(env).To(ContainSubstring("/oem/" + file))
		}
	}

	It("takes along who it is to what it installs, registers and reboots; cut off, it does so again, with the same name", func() {
		runner.Fail("elemental install", 1, "no disk")
		Expect(call(registerAndInstall)).To(MatchError(ContainSubstring("no disk")))
		Expect(api.Hosts()).To(BeEmpty(), "who it is would be lost with the power")
		former := key()

		runner.Say("elemental install", "")
		Expect(call(registerAndInstall)).To(MatchError(context.Canceled))
		Expect(api.Hosts()).To(Equal([]string{"host-1"}))
		Expect(key()).To(Equal(former))
		Expect(runner.Calls()).To(HaveExactElements("elemental install", "elemental install", "systemctl reboot"))
		expectTakenAlong(runner.Commands()[1])
	})

	It("is the host that has registered when it is installed by a command of its own", func() {
		Expect(call(func(a *agent.Agent, ctx context.Context) error { return a.Register(ctx, false) })).To(Succeed())
		Expect(api.Hosts()).To(Equal([]string{"host-1"}))
		former := key()

		runner.Say("elemental install", "")
		Expect(call(func(a *agent.Agent, ctx context.Context) error { return a.Install(ctx) })).To(MatchError(context.Canceled))
		expectTakenAlong(runner.Commands()[0])
		Expect(key()).To(Equal(former))
	})

	Describe("and is installed from a registry", func() {
		var (
			registry *labimage.Registry
			vendor   *labimage.Signer
			pushed   labimage.Image
		)
		ctx := context.Background()

		BeforeEach(func() {
			var err error
			registry, err = labimage.Start(labimage.Options{})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(registry.Close)
			vendor, err = labimage.NewSigner()
			Expect(err).NotTo(HaveOccurred())
			pushed, err = registry.Push(ctx, "os", "v1", labimage.OS{Version: "v1", MultiArch: true})
			Expect(err).NotTo(HaveOccurred())
			images = image.NewStore(image.Options{Directory: GinkgoT().TempDir(), Transport: registry.Transport()})
			api.SetConfig(`{"elemental":{"install":{"device":"/dev/vda","systemUri":"` + pushed.URI() + `"}}}`)
			api.SetImageVerification(&wire.ImageVerification{Rules: []wire.ImageVerificationRule{
				{Prefix: registry.Host(), PublicKeys: []string{vendor.PublicKey}},
			}})
		})

		It("has the CLI pull the signed image from itself, and knows which it was when it has booted that", func() {
			Expect(registry.Sign(ctx, pushed, vendor)).To(Succeed())
			runner.On("elemental install", func(command system.Command) system.Result {
				from := ""
				for _, variable := range command.Env {
					if value, is := strings.CutPrefix(variable, "ELEMENTAL_INSTALL_SYSTEM=oci:"); is {
						from = value
					}
				}
				Expect(from).To(HavePrefix("127.0.0.1:"))
				Expect(from).NotTo(HavePrefix(registry.Host()))
				reference, err := name.ParseReference(from)
				Expect(err).NotTo(HaveOccurred())
				pulled, err := remote.Image(reference)
				Expect(err).NotTo(HaveOccurred())
				Expect(validate.Image(pulled)).To(Succeed())
				return system.Result{}
			})
			Expect(call(registerAndInstall)).To(MatchError(context.Canceled))
			Expect(lasting(w.root, "set-file-installed-images-json.yaml")).To(And(
				ContainSubstring(pushed.PlatformDigest), ContainSubstring(pushed.URI())))
		})

		It("installs from a registry without TLS that its configuration lists, and from no other", func() {
			plain, err := labimage.Start(labimage.Options{PlainHTTP: true})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(plain.Close)
			unsigned, err := plain.Push(ctx, "os", "v1", labimage.OS{Version: "v1"})
			Expect(err).NotTo(HaveOccurred())
			api.SetConfig(`{"elemental":{"install":{"device":"/dev/vda","systemUri":"` + unsigned.URI() + `"},"agent":{"insecureRegistries":["` + plain.Host() + `"]}}}`)
			api.SetImageVerification(nil)
			images = nil // the agent's own
			Expect(call(registerAndInstall)).To(MatchError(ContainSubstring("except those that agent.insecureRegistries lists")))
			Expect(runner.Calls()).To(BeEmpty())

			w.config.Agent.InsecureRegistries = []string{plain.Host()}
			runner.Say("elemental install", "")
			Expect(call(registerAndInstall)).To(MatchError(context.Canceled))
			Expect(runner.Calls()).To(ContainElement("elemental install"))
		})

		It("leaves its disk alone when nobody who counts has signed the image", func() {
			stranger, err := labimage.NewSigner()
			Expect(err).NotTo(HaveOccurred())
			Expect(registry.Sign(ctx, pushed, stranger)).To(Succeed())
			Expect(call(registerAndInstall)).To(MatchError(And(
				HavePrefix("systemUri of the registration's spec.config.elemental: image "+pushed.URI()), ContainSubstring("it was made with none of the 1 keys"))))
			Expect(runner.Calls()).To(BeEmpty())
			Expect(api.Hosts()).To(BeEmpty())
		})

		It("is reset to the signed image in the same way, and to no other", func() {
			api.SetConfig(`{"elemental":{"reset":{"systemUri":"` + pushed.URI() + `"}}}`)
			Expect(os.Rename(filepath.Join(w.root, "run", "elemental", "live_mode"), filepath.Join(w.root, "run", "elemental", "recovery_mode"))).To(Succeed())
			Expect(os.WriteFile(filepath.Join(w.root, "config.yaml"), []byte("registration: {}"), 0o600)).To(Succeed())
			mounts := filepath.Join(w.root, system.MountsFile)
			Expect(os.MkdirAll(filepath.Dir(mounts), 0o755)).To(Succeed())
			Expect(os.WriteFile(mounts, []byte("1 1 254:1 / /oem rw - ext4 /dev/vda1 rw\n"), 0o600)).To(Succeed())
			w.config.Agent.PostReset.Reboot = true
			Expect(registry.Sign(ctx, pushed, vendor)).To(Succeed())
			runner.Say("losetup -ln", "")
			runner.Say("elemental reset", "")
			Expect(call(func(a *agent.Agent, ctx context.Context) error { return a.Reset(ctx) })).To(MatchError(context.Canceled))
			Expect(runner.Commands()[1].Env).To(ContainElement(MatchRegexp(`^ELEMENTAL_RESET_SYSTEM=oci:127\.0\.0\.1:\d+/elemental/os@` + pushed.PlatformDigest + `$`)))
			Expect(lasting(w.root, "set-file-installed-images-json.yaml")).To(ContainSubstring(pushed.URI()))
		})

		It("takes no ISO, which has no signature", func() {
			api.SetConfig(`{"elemental":{"install":{"device":"/dev/vda","iso":"https://iso.test/os.iso"}}}`)
			Expect(call(registerAndInstall)).To(MatchError(ContainSubstring("the signature of an ISO cannot be verified")))
			Expect(runner.Calls()).To(BeEmpty())
		})
	})

	It("leaves its disk alone when its token is refused", func() {
		w.config.Registration.Token = "of another registration"
		Expect(call(registerAndInstall)).To(MatchError(client.ErrUnauthorized))
		Expect(runner.Calls()).To(BeEmpty())
	})
})
