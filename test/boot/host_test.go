// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"maps"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/hostapi/apitest"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
)

// stableWindow is how long a boot has to stay good.
const stableWindow = 5 * time.Second

// host is a machine with an agent, and its ElementalHost.
type host struct {
	*machine
	namespace string
	// all images of this host have these files.
	all files
}

// initSystem is what hosts run besides the agent.
type initSystem struct {
	hardware
	// files of all images, and of the host, in /var/lib, by its agent's configuration.
	files func(agentConfig string) (ofImages, own files)
}

// played is the init system that the guest plays.
func played() initSystem {
	return initSystem{
		hardware: hardware{software: software, megabytes: 768, processors: 1},
		files:    func(agentConfig string) (ofImages, own files) { return nil, files{"boot-test/agent.yaml": agentConfig} },
	}
}

// newHost installs a machine whose init system is played by the guest with an image, and waits until it has registered and reported.
func newHost(ctx context.Context) *host {
	GinkgoHelper()
	return newHostWith(ctx, played())
}

func newHostWith(ctx context.Context, by initSystem) *host {
	GinkgoHelper()
	registration, err := apitest.OpenRegistration(ctx, plane, api.Endpoint, "hosts", infrav1.ElementalRegistrationSpec{Approval: infrav1.ApprovalAuto})
	Expect(err).NotTo(HaveOccurred())
	settings, err := yaml.Marshal(config.Config{
		Registration: config.Registration{URI: registration.URI, CACert: string(api.CA), Token: registration.Token},
		Agent: config.Agent{
			Debug: true, NoSMBIOS: true, Hostname: config.Hostname{Prefix: "boot-"}, Reconciliation: config.Duration(10 * time.Second), StableWindow: config.Duration(stableWindow),
		},
	})
	Expect(err).NotTo(HaveOccurred())
	ofImages, own := by.files(string(settings))
	maps.Copy(own, files{
		"boot-test/ca.pem": string(registry.CA()),
		"boot-test/ports":  strings.Join([]string{portOf(api.Endpoint), portOf("https://" + registry.Host()), portOf(plane.Config.Host)}, " "),
	})
	path := filepath.Join(GinkgoT().TempDir(), "disk.img")
	install(path, push(ctx, "v1", ofImages), ofImages, own)
	h := &host{machine: newMachine(path, by.hardware), namespace: registration.Namespace, all: ofImages}
	Eventually(h.object).WithContext(ctx).Should(HaveField("Status.OS.Version", "v1"))
	return h
}

// push pushes an image for this host, with files besides.
func (h *host) push(ctx context.Context, version string, more files) image.Image {
	GinkgoHelper()
	with := maps.Clone(h.all)
	if with == nil {
		with = files{}
	}
	maps.Copy(with, more)
	return push(ctx, version, with)
}

// portOf is the port of a URL.
func portOf(text string) string {
	GinkgoHelper()
	parsed, err := url.Parse(text)
	Expect(err).NotTo(HaveOccurred())
	return parsed.Port()
}

// object is the host's ElementalHost; an empty one until it has registered.
func (h *host) object(ctx context.Context) (*infrav1.ElementalHost, error) {
	list := &infrav1.ElementalHostList{}
	if err := plane.Client.List(ctx, list, client.InNamespace(h.namespace)); err != nil || len(list.Items) == 0 {
		return &infrav1.ElementalHost{}, err
	}
	return &list.Items[0], nil
}

// upgrade asks for an image.
func (h *host) upgrade(ctx context.Context, to image.Image) {
	GinkgoHelper()
	found, err := h.object(ctx)
	Expect(err).NotTo(HaveOccurred())
	before := found.DeepCopy()
	found.Spec.OSVersionManagement = osversion.OfImage(to.URI())
	Expect(plane.Client.Patch(ctx, found, client.MergeFrom(before))).To(Succeed())
}

// awaitEnd waits for the end of the attempt to upgrade to an image, and returns what the API has of the host then. An attempt of such a host that has
// succeeded is withdrawn, and soon forgotten: then the host runs the image, and there is none.
func (h *host) awaitEnd(ctx context.Context, to image.Image) infrav1.ElementalHostStatus {
	GinkgoHelper()
	var status infrav1.ElementalHostStatus
	Eventually(func(ctx context.Context) (*infrav1.HostUpgradeStatus, error) {
		found, err := h.object(ctx)
		status = found.Status
		if status.Upgrade == nil && status.OS.Digest == to.Digest {
			status.Upgrade = &infrav1.HostUpgradeStatus{Digest: to.Digest, Phase: infrav1.HostUpgradeSucceeded}
		}
		return status.Upgrade, err
	}).WithContext(ctx).Should(HaveValue(And(HaveField("Digest", to.Digest), HaveField("Phase",
		BeElementOf(infrav1.HostUpgradeSucceeded, infrav1.HostUpgradeFailed, infrav1.HostUpgradeRolledBack)))))
	GinkgoWriter.Printf("%s: %s, %d boots, message %q\n", to.Tag, status.Upgrade.Phase, h.boots.Load(), status.Upgrade.Message)
	return status
}

// runs matches the status of a host that runs a version, which GRUB has booted in a mode.
func runs(version, mode string) OmegaMatcher {
	return HaveField("OS", And(HaveField("Version", version), HaveField("BootMode", mode)))
}
