// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/grub"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/double/source"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/image"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/scenario"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/suite"
)

const (
	node = "demo-node-1"

	succeeded = `elemental_upgrade_attempts_total{end="Succeeded"}`
	drifted   = "elemental_hosts_drifted"
	serving   = `elemental_hosts{state="Serving"}`
)

var _ = Describe("An operator", Ordered, func() {
	var (
		before []scenario.Identity
		good   image.Image
	)

	BeforeAll(func(ctx SpecContext) {
		var err error
		before, err = cluster.Identities(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	AfterEach(func(ctx SpecContext) {
		Expect(cluster.Identities(ctx)).To(Equal(before), "every Machine, Node name and provider ID is the same")
	})

	It("sees a rollout in the status line and in the metrics", func(ctx SpecContext) {
		Eventually(line(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on " + short(cluster.Image)))
		Eventually(sample(ctx, serving)).Should(Equal(2.0))
		Expect(ours(ctx)).To(HaveKeyWithValue(succeeded, 0.0))
		Eventually(happened(ctx, infrav1.EventHostRegistered)).Should(ConsistOf("ElementalHost/demo-node-1", "ElementalHost/demo-node-2"))
		said := watchLines(ctx)
		held := suite.HoldHosts(theLab, infrav1.HostUpgradeApplying, infrav1.HostUpgradeAssessing)
		good = suite.Push(ctx, cluster, image.OS{UpgradeSeconds: 1})
		Expect(cluster.PatchImage(ctx, good)).To(Succeed())
		for done := range len(held) {
			held[showsNode(ctx, done, good, "rebooting (10/14)")].Release(string(infrav1.HostUpgradeApplying))
			held[showsNode(ctx, done+1, good, "assessing (11/14)")].Release(string(infrav1.HostUpgradeAssessing))
		}
		Expect(cluster.AwaitImage(ctx, good)).To(Succeed())
		Eventually(line(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on " + short(good)))

		// A watch may tell of the last line after a read has shown it.
		Eventually(said.last).Should(Equal("2 of 2 nodes on " + short(good)))
		expectRollout(said.all())
		Eventually(sample(ctx, succeeded)).Should(Equal(2.0))
		samples, err := ours(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, step := range []string{"Preflight", "Prefetch", "Drain", "Reboot", "Assess", "Settle"} {
			Expect(samples).To(HaveKeyWithValue(`elemental_upgrade_step_duration_seconds_count{step="`+step+`"}`, 2.0))
		}
		Expect(samples[`elemental_upgrade_step_duration_seconds_sum{step="Reboot"}`]).To(BeNumerically(">=", 2), "writing the image takes a second")
		Expect(samples).To(SatisfyAll(HaveKeyWithValue(serving, 2.0), HaveKeyWithValue(drifted, 0.0)))
		Expect(samples).NotTo(HaveKey(HavePrefix("elemental_upgrade_holds")))
		all, err := theLab.Metrics(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(all).To(HaveKeyWithValue(`elemental_hostapi_request_duration_seconds_count{code="204",route="reportHost"}`, BeNumerically(">", 0)))
	})

	It("reads the status line in the usual kubectl output", func(ctx SpecContext) {
		table, err := theLab.Kubectl(ctx, "--namespace", cluster.Namespace(), "get", "elementalclusters")
		Expect(err).NotTo(HaveOccurred())
		Expect(table).To(SatisfyAll(ContainSubstring("NODES"), ContainSubstring("2 of 2 nodes on "+short(good))))
		tree, err := clusterctl(ctx, "describe", "cluster", cluster.Options.Name, "--namespace", cluster.Namespace(), "--show-conditions", "all", "--color=false")
		Expect(err).NotTo(HaveOccurred(), tree)
		Expect(tree).To(SatisfyAll(ContainSubstring(infrav1.NodesUpToDateCondition), ContainSubstring("2 of 2 nodes on "+short(good))))
	})

	It("sees a host that falls back weeks later, and recovers it by hand", func(ctx SpecContext) {
		written := upgrades(node)
		fallBack(ctx, theLab.Host(node))
		Eventually(machineOf(ctx, node)).Should(haveCondition(infrav1.OSDriftedCondition, "True/"+infrav1.HostFellBackReason))
		machine, err := machineOf(ctx, node)()
		Expect(err).NotTo(HaveOccurred())
		Expect(machine).To(haveCondition("Ready", "True/Ready"))
		Eventually(line(ctx)).Should(Equal("NodesDrifted: 1 of 2 nodes on " + short(good) + ", demo-node-1 drifted"))
		Eventually(sample(ctx, drifted)).Should(Equal(1.0))
		Eventually(happened(ctx, infrav1.EventOSDrifted)).Should(Equal([]string{"ElementalMachine/" + machine.Name}))
		Expect(upgrades(node)).To(Equal(written), "nothing is put right by itself")

		By("the predecessor's spelling of the trigger")
		held := suite.HoldHost(theLab.Host(node), infrav1.HostUpgradeApplying)
		Expect(label(ctx, infrav1.InPlaceUpgradeLabel, "--dry-run=server")).To(Succeed(), "an attempt has left nothing to overwrite")
		Expect(label(ctx, infrav1.InPlaceUpdateLabel)).To(Succeed())
		Eventually(hostNamed(ctx, node)).Should(haveCondition(infrav1.OSVersionReadyCondition, "False/"+infrav1.UnmanagedReason))
		held.Release(string(infrav1.HostUpgradeApplying))
		Eventually(hostNamed(ctx, node)).Should(HaveField("Labels", HaveKeyWithValue(infrav1.InPlaceUpgradeLabel, infrav1.InPlaceUpgradeDone)))
		Eventually(machineOf(ctx, node)).Should(haveCondition(infrav1.OSDriftedCondition, "False/"+infrav1.NotDriftedReason))
		Eventually(hostNamed(ctx, node)).Should(haveCondition(infrav1.OSVersionReadyCondition, "True/"+infrav1.UnmanagedReason))
		Eventually(line(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on " + short(good)))
		Eventually(sample(ctx, drifted)).Should(BeZero())
		Eventually(happened(ctx, infrav1.EventOSDriftEnded)).Should(Equal([]string{"ElementalMachine/" + machine.Name}))
		Expect(ours(ctx)).To(SatisfyAll(
			HaveKeyWithValue(`elemental_unmanaged_upgrades_total{outcome="done"}`, 1.0), HaveKeyWithValue(succeeded, 2.0)))
		Expect(upgrades(node)).To(Equal(written + 1))
	})

	It("triggers a host by hand, and again when it has rolled back", func(ctx SpecContext) {
		written := upgrades(node)
		bad := suite.Push(ctx, cluster, image.OS{Boot: source.BootUnhealthy})
		Expect(wantByHand(ctx, bad)).To(Succeed())
		Eventually(hostNamed(ctx, node)).Should(haveCondition(infrav1.OSVersionReadyCondition, "False/"+infrav1.InPlaceUpdateNotPendingReason))
		for run := 1; run <= 2; run++ {
			Expect(label(ctx, infrav1.InPlaceUpgradeLabel, "--overwrite")).To(Succeed())
			Eventually(hostNamed(ctx, node)).Should(HaveField("Labels", HaveKeyWithValue(infrav1.InPlaceUpgradeLabel, infrav1.InPlaceUpgradeRolledBack)))
			Expect(upgrades(node)).To(Equal(written+run), "run %d is one of its own", run)
		}
		Eventually(hostNamed(ctx, node)).Should(SatisfyAll(
			haveCondition(infrav1.OSVersionReadyCondition, "False/"+infrav1.RolledBackReason),
			HaveField("Annotations", HaveKeyWithValue(infrav1.ManualUpgradesAnnotation, "3"))))
		Eventually(sample(ctx, `elemental_unmanaged_upgrades_total{outcome="rolled-back"}`)).Should(Equal(2.0))
		// Either the toolkit, whose fallback is a boot in passive mode, or the agent, which makes the former OS the
		// default, is the first to detect the bad boot.
		Eventually(machineOf(ctx, node)).Should(Or(
			haveCondition(infrav1.OSDriftedCondition, "True/"+infrav1.HostFellBackReason),
			haveCondition(infrav1.OSDriftedCondition, "True/"+infrav1.HostRunsOtherOSReason)))

		By("requesting the former image again, which the host runs")
		Expect(wantByHand(ctx, good)).To(Succeed())
		Eventually(line(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on " + short(good)))
		Expect(upgrades(node)).To(Equal(written + 2))
	})

	It("cannot trigger a host by hand while an attempt is active, which continues undisturbed", func(ctx SpecContext) {
		written := upgrades(node)
		_, err := theLab.WorkloadKubectl(ctx, "annotate", "node", node, infrav1.NodeUpgradePauseAnnotation+"=")
		Expect(err).NotTo(HaveOccurred())
		wanted := suite.Push(ctx, cluster, image.OS{})
		Expect(cluster.PatchImage(ctx, wanted)).To(Succeed())
		Eventually(line(ctx)).Should(ContainSubstring("demo-node-1 paused (3/"))
		Eventually(sample(ctx, fmt.Sprintf(`elemental_upgrade_holds{cluster="%s/%s",reason="NodePaused"}`, cluster.Namespace(), cluster.Options.Name))).Should(Equal(1.0))
		Eventually(hostNamed(ctx, node)).Should(HaveField("Spec.Upgrade.Digest", Not(BeEmpty())), "it is told what it has resolved")
		host, err := hostNamed(ctx, node)()
		Expect(err).NotTo(HaveOccurred())
		for _, spelling := range []string{infrav1.InPlaceUpgradeLabel, infrav1.InPlaceUpdateLabel} {
			Expect(label(ctx, spelling)).To(MatchError(ContainSubstring("attempt " + host.Spec.Upgrade.Attempt + " is active")))
		}
		Expect(hostNamed(ctx, node)()).To(And(HaveField("Labels", host.Labels), HaveField("Spec", host.Spec)), "nothing has changed")
		_, err = theLab.WorkloadKubectl(ctx, "annotate", "node", node, infrav1.NodeUpgradePauseAnnotation+"-")
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.AwaitImage(ctx, wanted)).To(Succeed())
		good = wanted
		Expect(upgrades(node)).To(Equal(written+1), "the host was upgraded once")
		Eventually(sample(ctx, succeeded)).Should(Equal(4.0))
		Expect(ours(ctx)).To(HaveKeyWithValue(`elemental_unmanaged_upgrades_total{outcome="done"}`, 1.0))
	})

	It("sees the same metrics after a restart of the manager, without double counting", func(ctx SpecContext) {
		Eventually(line(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on " + short(good)))
		fallBack(ctx, theLab.Host(node))
		Eventually(sample(ctx, drifted)).Should(Equal(1.0))
		theLab.Provider.Process.Kill()
		Expect(theLab.Provider.Process.Restart()).To(Succeed())
		Expect(theLab.Provider.AwaitReady(ctx)).To(Succeed())
		Eventually(sample(ctx, drifted)).Should(Equal(1.0))
		Eventually(sample(ctx, serving)).Should(Equal(2.0))

		By("rebooting the host, whose active snapshot is good after all")
		Expect(theLab.Host(node).PowerOff(ctx)).To(Succeed())
		Expect(theLab.Host(node).PowerOn(ctx)).To(Succeed())
		Eventually(sample(ctx, drifted)).Should(BeZero())
		Eventually(line(ctx)).Should(Equal("NodesUpToDate: 2 of 2 nodes on " + short(good)))
		samples, err := ours(ctx)
		Expect(err).NotTo(HaveOccurred())
		for name, value := range samples {
			if strings.HasSuffix(strings.Split(name, "{")[0], "_total") {
				Expect(value).To(BeZero(), name)
			}
		}
	})

	It("sees at the template, its hosts and the status line why an OS does not come", func(ctx SpecContext) { good = seesWhatIsStuck(ctx) })
})

// showsNode waits until the status line reports how many nodes are done and what the node being upgraded, which is
// blocked there, is doing, and returns its name.
func showsNode(ctx context.Context, done int, wanted image.Image, doing string) string {
	GinkgoHelper()
	shown := regexp.MustCompile(fmt.Sprintf(`^NodesUpgrading: %d of 2 nodes on %s, (\S+) %s(, \S+ .*)?$`, done, short(wanted), regexp.QuoteMeta(doing)))
	said := ""
	Eventually(func() (string, error) {
		var err error
		said, err = line(ctx)()
		return said, err
	}).Should(MatchRegexp(shown.String()))
	return shown.FindStringSubmatch(said)[1]
}

// expectRollout asserts on the lines that a watch has shown of a rollout over two nodes.
func expectRollout(said []string) {
	GinkgoHelper()
	Expect(len(said)).To(BeNumerically("<=", 40), "it is written when it changes: %q", said)
	done := 0
	for _, line := range said[1:] {
		on := 0
		_, err := fmt.Sscanf(line, "%d of 2 nodes on", &on)
		Expect(err).NotTo(HaveOccurred(), line)
		Expect(on).To(BeNumerically(">=", done), "%q", said)
		done = on
	}
}

// fallBack boots a host into its former snapshot, once, as GRUB does when the active one does not come up.
func fallBack(ctx context.Context, host *lab.Host) {
	GinkgoHelper()
	Expect(host.PowerOff(ctx)).To(Succeed())
	env, err := host.GrubEnv()
	Expect(err).NotTo(HaveOccurred())
	oem, err := host.GrubOEMEnv()
	Expect(err).NotTo(HaveOccurred())
	former := strings.Fields(env.Get(grub.PassiveSnapshots) + " " + oem.Get(grub.PassiveSnapshots))
	Expect(former).NotTo(BeEmpty())
	env.Set(grub.NextEntry, grub.Passive+former[0])
	Expect(env.Write(host.Disk().GrubEnv())).To(Succeed())
	Expect(host.PowerOn(ctx)).To(Succeed())
}

// label triggers the host by hand. Flags of kubectl label may follow.
func label(ctx context.Context, spelling string, flags ...string) error {
	command := append([]string{"--namespace", cluster.Namespace(), "label", "elementalhost", node, spelling + "=" + infrav1.InPlaceUpgradePending}, flags...)
	_, err := cluster.Kubectl(ctx, command...)
	return err
}

// wantByHand sets an image on the ElementalMachine of the host, and not on its template.
func wantByHand(ctx context.Context, os image.Image) error {
	machine, err := machineOf(ctx, node)()
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"spec":{"osVersionManagement":{"osVersion":{"imageURI":%q}}}}`, os.URI())
	_, err = cluster.Kubectl(ctx, "--namespace", cluster.Namespace(), "patch", "elementalmachine", machine.Name, "--type", "merge", "--patch", patch)
	return err
}

func clusterctl(ctx context.Context, args ...string) (string, error) {
	args = append(args, "--kubeconfig", lab.AdminKubeconfig(theLab.Management))
	command := exec.CommandContext(ctx, filepath.Join(theLab.Root(), "bin", "tools", "clusterctl"), args...)
	command.Env = append(os.Environ(), "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME="+theLab.Dir())
	said, err := command.CombinedOutput()
	return string(said), err
}
