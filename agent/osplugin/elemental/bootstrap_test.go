// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/osplugin"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const kubeadmData = `## template: jinja
#cloud-config

write_files:
-   path: /run/kubeadm/kubeadm.yaml
    owner: root:root
    permissions: '0640'
    content: |
      kind: JoinConfiguration
users:
- default
- name: admin
  groups: sudo, wheel
  ssh_authorized_keys: [key-1]
runcmd:
- kubeadm join --config /run/kubeadm/kubeadm.yaml && echo success > /run/cluster-api/bootstrap-success.complete
- [echo, "it's done"]
ntp: {enabled: true}
`

const kubeadmYip = `# Written by elemental-agent.
stages:
    network.after:
        - name: 'Files: directories'
          if: '[ ! -f /run/elemental/recovery_mode ]'
          commands:
            - umask 022 && mkdir -p '/run/kubeadm'
        - name: Files
          if: '[ ! -f /run/elemental/recovery_mode ]'
          files:
            - path: /run/kubeadm/kubeadm.yaml
              permissions: 416
              ownerstring: root:root
              encoding: base64
              content: a2luZDogSm9pbkNvbmZpZ3VyYXRpb24K
        - name: Users
          if: '[ ! -f /run/elemental/recovery_mode ]'
          users:
            admin:
                ssh_authorized_keys:
                    - key-1
                groups:
                    - sudo
                    - wheel
                lock_passwd: true
        - name: runcmd
          if: '[ ! -f /run/elemental/recovery_mode ]'
          files:
            - path: /run/elemental-agent/bootstrap/runcmd
              permissions: 448
              encoding: base64
              content: IyEvYmluL3NoCmt1YmVhZG0gam9pbiAtLWNvbmZpZyAvcnVuL2t1YmVhZG0va3ViZWFkbS55YW1sICYmIGVjaG8gc3VjY2VzcyA+IC9ydW4vY2x1c3Rlci1hcGkvYm9vdHN0cmFwLXN1Y2Nlc3MuY29tcGxldGUKJ2VjaG8nICdpdCdcJydzIGRvbmUnCg==
          commands:
            - sh /run/elemental-agent/bootstrap/runcmd
            - '[ -f /run/cluster-api/bootstrap-success.complete ]'
        - name: Remove the bootstrap once it has succeeded
          if: '[ -f /run/cluster-api/bootstrap-success.complete ]'
          commands:
            - rm -f /oem/bootstrap-cloud-config.yaml /run/elemental-agent/bootstrap/bootcmd /run/elemental-agent/bootstrap/runcmd
`

var _ = Describe("Bootstrap data", func() {
	var r *rig
	ctx := context.Background()

	BeforeEach(func() { r = newRig() })

	It("runs in the network stage and removes itself", func() {
		Expect(r.plugin.Bootstrap(ctx, wire.Bootstrap{Format: "cloud-config", Config: kubeadmData})).To(Succeed())
		Expect(r.read("/oem/bootstrap-cloud-config.yaml")).To(Equal(kubeadmYip))
		info, err := os.Stat(r.path("/oem/bootstrap-cloud-config.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode().Perm()).To(BeEquivalentTo(0o600), "it holds a join token")
		Expect(r.plugin.BootstrapState(ctx)).To(Equal(osplugin.BootstrapState{Placed: true}))
	})

	It("gets a sentinel where a provider writes none", func() {
		Expect(r.plugin.Bootstrap(ctx, wire.Bootstrap{Format: "cloud-config", Config: "#cloud-config\nruncmd: [k3s]\n"})).To(Succeed())
		Expect(r.read("/oem/bootstrap-cloud-config.yaml")).To(ContainSubstring(
			"- sh /run/elemental-agent/bootstrap/runcmd && mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete"))
	})

	DescribeTable("is refused for good",
		func(data wire.Bootstrap, message string) {
			err := r.plugin.Bootstrap(ctx, data)
			Expect(errors.Is(err, osplugin.ErrUnsupported)).To(BeTrue())
			Expect(err).To(MatchError(ContainSubstring(message)))
			Expect(r.path("/oem/bootstrap-cloud-config.yaml")).NotTo(BeAnExistingFile())
		},
		Entry("ignition", wire.Bootstrap{Format: "ignition"}, `format "ignition", Elemental hosts take "cloud-config"`),
		Entry("not YAML", wire.Bootstrap{Format: "cloud-config", Config: "#cloud-config\n\t:"}, "decoding the cloud-config"),
		Entry("permissions", wire.Bootstrap{Format: "cloud-config", Config: "write_files: [{path: /x, permissions: rw}]"},
			`write_files: /x: permissions "rw" are not an octal number up to 7777`),
		Entry("permissions that no file has", wire.Bootstrap{Format: "cloud-config", Config: "write_files: [{path: /x, permissions: 4096}]"}, `"4096" are not`),
		Entry("negative permissions", wire.Bootstrap{Format: "cloud-config", Config: "write_files: [{path: /x, permissions: -1}]"}, `"-1" are not`),
		Entry("a file without a path", wire.Bootstrap{Format: "cloud-config", Config: "write_files: [{content: x}]"}, "write_files: file 1 has no path"),
		Entry("a source", wire.Bootstrap{Format: "cloud-config", Config: "write_files: [{path: /x, source: {uri: 'http://x'}}]"}, "write the content"),
		Entry("content that is not base64", wire.Bootstrap{Format: "cloud-config", Config: "write_files: [{path: /x, encoding: b64, content: '?'}]"},
			"write_files: /x: its content is not encoded as b64"),
		Entry("content that is not compressed", wire.Bootstrap{Format: "cloud-config", Config: "write_files: [{path: /x, encoding: gzip, content: x}]"},
			"is not compressed with gzip"),
		Entry("files that are larger than is unpacked", wire.Bootstrap{Format: "cloud-config", Config: largeFiles(4<<20, 4<<20+1)},
			"write_files: /2: the files are larger than 8 MiB altogether, unpacked"),
		Entry("a user without a name", wire.Bootstrap{Format: "cloud-config", Config: "users: [{groups: x}]"}, "a user without a name"),
		Entry("users in a map", wire.Bootstrap{Format: "cloud-config", Config: "users: {x: {}}"}, "users are not a list"),
		Entry("sudo that is no rule", wire.Bootstrap{Format: "cloud-config", Config: "users: [{name: x, sudo: true}]"}, `users: x: sudo: "true" is neither a rule`),
		Entry("append", wire.Bootstrap{Format: "cloud-config", Config: "write_files: [{path: /x, append: true}]"}, "write the whole file"),
		Entry("a command that is none", wire.Bootstrap{Format: "cloud-config", Config: "runcmd: [{a: b}]"}, "neither a string nor a list"),
	)

	DescribeTable("has failed when the unit of the network stage has",
		func(said, failed string) {
			r.runner.Say("systemctl is-active elemental-setup-network.service", said)
			Expect(r.plugin.BootstrapFailure(ctx)).To(Equal(failed))
		},
		Entry(nil, "activating\n", ""),
		Entry(nil, "inactive\n", ""),
		Entry(nil, "failed\n", "elemental-setup-network.service"),
	)

	It("has been applied when the sentinel is there", func() {
		r.write("/run/cluster-api/bootstrap-success.complete", "success")
		Expect(r.plugin.BootstrapState(ctx)).To(Equal(osplugin.BootstrapState{Applied: true}))
	})
})

var _ = Describe("A reset", func() {
	var r *rig
	ctx := context.Background()

	BeforeEach(func() {
		r = newRig()
		r.write("/work/private.key", "key")
		r.write("/work/hostname", "host-1")
	})

	It("is triggered by what recovery runs", func() {
		Expect(r.plugin.TriggerReset(ctx)).To(Succeed())
		Expect(r.grubenv()).To(Equal([]string{"next_entry=recovery"}))
		Expect(r.read("/oem/reset-cloud-config.yaml")).To(And(
			ContainSubstring("if: '[ -f /run/elemental/recovery_mode ]'"),
			ContainSubstring("- elemental-agent reset --config /oem/elemental/agent/config.yaml\n"),
			ContainSubstring("- systemctl reboot\n")))
		Expect(r.plugin.ResetDir()).To(Equal(r.path("/oem/elemental/agent")))
		Expect(r.read("/oem/elemental/agent/config.yaml")).To(Equal("registration: {}\n"))
	})

	DescribeTable("formats the persistent partition, unless the registration says otherwise",
		func(options, persistent string, emptied bool) {
			Expect(r.plugin.TriggerReset(ctx)).To(Succeed())
			r.boot(0, "recovery")
			r.runner.On("elemental reset", func(command system.Command) system.Result {
				Expect(command.Env).To(ContainElements("ELEMENTAL_RESET_PERSISTENT="+persistent, "ELEMENTAL_RESET_OEM=false"))
				for _, needed := range []string{"grubenv", "reset-cloud-config.yaml", "elemental/agent/private.key", "elemental/agent/config.yaml", "set-file-config-yaml.yaml"} {
					Expect(r.path("/oem/"+needed)).To(BeAnExistingFile(), "the power may be cut now")
				}
				_, err := os.Stat(r.path("/oem/99_operators.yaml"))
				Expect(os.IsNotExist(err)).To(Equal(emptied))
				return system.Result{}
			})
			r.write("/oem/99_operators.yaml", "name: x")
			r.write("/oem/elemental/agent/private.key", "key")
			Expect(r.plugin.Reset(ctx, json.RawMessage(options))).To(Succeed())
		},
		Entry("nothing", "", "true", false),
		Entry("the OEM partition, which is emptied of all that the reset does not need", `{"resetOem":true}`, "true", true),
		Entry("otherwise", `{"resetPersistent":false}`, "false", false),
	)

	It("keeps the configuration and nothing else", func() {
		Expect(r.plugin.TriggerReset(ctx)).To(Succeed())
		r.boot(0, "recovery")
		r.write("/oem/set-hostname.yaml", "old")
		r.write("/oem/90_custom.yaml", "#cloud-config\n# Written by elemental-agent.\n")
		r.write("/oem/91_custom.yaml", "of the registration's configUrls")
		r.runner.On("elemental reset", func(command system.Command) system.Result {
			Expect(command.Env).To(ContainElements("ELEMENTAL_RESET_PERSISTENT=true", "ELEMENTAL_RESET_OEM=false"))
			Expect(os.RemoveAll(r.path("/etc"))).To(Succeed())
			Expect(os.RemoveAll(r.path("/oem/elemental"))).To(Succeed())
			return system.Result{}
		})
		Expect(r.plugin.Reset(ctx, json.RawMessage(`{"resetPersistent":true}`))).To(Succeed())
		for _, kept := range []string{"/etc/elemental/agent/config.yaml", "/oem/elemental/agent/config.yaml"} {
			Expect(r.read(kept)).To(Equal("registration: {}\n"))
		}
		for _, gone := range []string{"reset-cloud-config.yaml", "set-hostname.yaml", "90_custom.yaml"} {
			Expect(r.path("/oem/" + gone)).NotTo(BeAnExistingFile())
		}
		Expect(r.path("/oem/91_custom.yaml")).To(BeAnExistingFile())
	})

	It("leaves nothing to recovery that was not carried out there", func() {
		Expect(r.plugin.TriggerReset(ctx)).To(Succeed())
		Expect(r.plugin.AbandonReset(ctx)).To(Succeed())
		Expect(r.path("/oem/reset-cloud-config.yaml")).NotTo(BeAnExistingFile())
		Expect(r.plugin.AbandonReset(ctx)).To(Succeed())
	})

	It("leaves what the CLI has copied to root alone, from the start of the agent on", func() {
		r.write("/oem/91_custom.yaml", "name: x\n")
		Expect(os.Chmod(r.path("/oem/91_custom.yaml"), 0o644)).To(Succeed())
		Expect(r.plugin.Init(ctx)).To(Succeed())
		copied, err := os.Stat(r.path("/oem/91_custom.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(copied.Mode().Perm()).To(BeEquivalentTo(0o600))
	})

	It("does its work where it cannot do that", func() {
		Expect(os.Symlink("/nowhere", r.path("/oem/91_custom.yaml"))).To(Succeed())
		r.write("/elsewhere", "x")
		Expect(os.Chmod(r.path("/elsewhere"), 0o644)).To(Succeed())
		Expect(os.Symlink(r.path("/elsewhere"), r.path("/oem/92_custom.yaml"))).To(Succeed())
		Expect(r.plugin.Init(ctx)).To(Succeed())
		elsewhere, err := os.Stat(r.path("/elsewhere"))
		Expect(err).NotTo(HaveOccurred())
		Expect(elsewhere.Mode().Perm()).To(BeEquivalentTo(0o644), "a link leads where it is not the agent's")
	})

	It("is not done again for what the next boot has not got anyhow", func() {
		r.boot(0, "recovery")
		r.mount("0:22 / /run", "254:2 / /oem", "254:1 / /run/elemental/efi")
		r.runner.Say("elemental reset", "")
		r.runner.Say("losetup", "")
		r.runner.On("mount -o remount,ro", func(system.Command) system.Result {
			done := strings.Contains(strings.Join(r.runner.Calls(), ";"), "elemental reset")
			if done {
				return system.Result{ExitCode: 32, Stderr: "mount point is busy"}
			}
			return system.Result{}
		})
		Expect(r.plugin.Reset(ctx, nil)).To(Succeed())
	})

	It("mounts /oem again, which the CLI leaves unmounted", func() {
		r.boot(0, "recovery")
		r.mount("0:22 / /run")
		r.runner.Say("elemental reset", "")
		Expect(r.plugin.Reset(ctx, nil)).To(Succeed())
		Expect(r.runner.Calls()).To(ContainElement("mount " + r.path("/oem")))
	})

	It("is not done outside of recovery", func() {
		err := r.plugin.Reset(ctx, nil)
		Expect(errors.Is(err, osplugin.ErrUnsupported)).To(BeTrue())
		Expect(r.runner.Calls()).To(BeEmpty())
	})

	It("fails when the CLI fails", func() {
		r.boot(0, "recovery")
		r.runner.Fail("elemental reset", 1, "no disk")
		Expect(r.plugin.Reset(ctx, nil)).To(MatchError("elemental reset: exit code 1: no disk"))
		kept, err := os.Stat(filepath.Join(r.plugin.RecoveryDir(), "config.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(kept.Mode().Perm()).To(BeEquivalentTo(0o600))

		By("a log of the CLI, whose errors have several lines")
		r.runner.On("elemental reset", func(system.Command) system.Result {
			return system.Result{ExitCode: 1, Stdout: "\x1b[36mINFO\x1b[0m[2026-11-22T22:13:19Z] Formatting 'state' partition\n" +
				"\x1b[31mERRO\x1b[0m[2026-11-22T22:13:19Z] reset command failed: 1 error occurred:\n\t* exit status 1\n\n"}
		})
		Expect(r.plugin.Reset(ctx, nil)).To(MatchError(
			"elemental reset: exit code 1: reset command failed: exit status 1 after \"Formatting 'state' partition\""))

		By("its configuration being nowhere but on the recovery partition")
		Expect(os.RemoveAll(r.path("/oem"))).To(Succeed())
		Expect(os.MkdirAll(r.path("/oem"), 0o755)).To(Succeed())
		Expect(os.RemoveAll(r.path("/etc/elemental/agent/config.yaml"))).To(Succeed())
		r.runner.Say("elemental reset", "")
		Expect(r.plugin.Reset(ctx, nil)).To(Succeed())
		Expect(r.path("/oem/elemental/agent/config.yaml")).To(BeAnExistingFile())
	})
})

var _ = Describe("An installation", func() {
	var (
		r       *rig
		ctx     = context.Background()
		install = func(options string) error { return r.plugin.Install(ctx, json.RawMessage(options)) }
	)

	BeforeEach(func() {
		r = newRig()
		r.boot(0, "live")
		r.runner.Say("elemental install", "")
		Expect(r.plugin.InstallHostname(ctx, "host-1")).To(Succeed())
		Expect(r.plugin.InstallFile(ctx, osplugin.File{Path: "/var/x/private.key", Mode: 0o600, Content: "key"})).To(Succeed())
	})

	It("is there already but on live media", func() {
		r.boot(1, "active")
		Expect(install(`{}`)).To(Succeed())
		Expect(r.runner.Calls()).To(BeEmpty())
	})

	It("takes along what the agent has written, and leaves to the media what the registration does not say", func() {
		Expect(install(``)).To(Succeed())
		Expect(r.runner.Commands()).To(HaveExactElements(And(
			HaveField("Args", []string{"install"}),
			HaveField("Env", []string{"ELEMENTAL_INSTALL_CLOUD_INIT=" + r.path("/oem/set-file-private-key.yaml") + "," + r.path("/oem/set-hostname.yaml")}))))
	})

	It("follows the registration", func() {
		r.runner.Say("elemental --debug --config-dir /etc/live install", "")
		Expect(install(`{"device":"/dev/sda","systemUri":"oci:os:v1","recoverySystemUri":"oci:rec:v1","firmware":"efi","iso":"http://iso",
			"snapshotter":{"type":"btrfs"},"configUrls":["http://more"],"noFormat":true,"disableBootEntry":true,"ejectCd":true,
			"configDir":"/etc/live","debug":true,"unknown":1}`)).To(Succeed())
		Expect(r.runner.Commands()[0].Env).To(ConsistOf(
			"ELEMENTAL_INSTALL_CLOUD_INIT=http://more,"+r.path("/oem/set-file-private-key.yaml")+","+r.path("/oem/set-hostname.yaml"),
			"ELEMENTAL_INSTALL_TARGET=/dev/sda", "ELEMENTAL_INSTALL_SYSTEM=oci:os:v1", "ELEMENTAL_INSTALL_RECOVERY_SYSTEM=oci:rec:v1",
			"ELEMENTAL_INSTALL_FIRMWARE=efi", "ELEMENTAL_INSTALL_ISO=http://iso", "ELEMENTAL_SNAPSHOTTER_TYPE=btrfs",
			"ELEMENTAL_INSTALL_NO_FORMAT=true", "ELEMENTAL_INSTALL_DISABLE_BOOT_ENTRY=true", "ELEMENTAL_EJECT_CD=true"))
	})

	It("takes a snapshotter by its bare name, too, and no selector of a device that it does not follow", func() {
		Expect(install(`{"deviceSelector":[{"key":"Name","operator":"In","values":["/dev/sda"]}]}`)).To(MatchError(ContainSubstring("name the device instead")))
		Expect(r.runner.Commands()).To(BeEmpty())
		r.runner.Say("elemental install", "")
		Expect(install(`{"device":"/dev/sda","snapshotter":"loopdevice"}`)).To(Succeed())
		Expect(r.runner.Commands()[0].Env).To(ContainElement("ELEMENTAL_SNAPSHOTTER_TYPE=loopdevice"))
	})

	It("is tried again after it has failed, and not again once it is done, until the media is booted again", func() {
		r.runner.Fail("elemental install", 1, "no space\nno disk")
		Expect(install(`{}`)).To(MatchError(HavePrefix("elemental install: exit code 1: no disk")))
		r.runner.Say("elemental install", "")
		Expect(install(`{}`)).To(Succeed())
		Expect(install(`{}`)).To(Succeed())
		Expect(r.runner.Calls()).To(HaveLen(2))
		Expect(os.RemoveAll(r.path("/run"))).To(Succeed())
		r.boot(0, "live")
		Expect(install(`{}`)).To(Succeed())
		Expect(r.runner.Calls()).To(HaveLen(3))
	})

	It("says what is wrong with the registration's options", func() {
		Expect(install(`{"device":1}`)).To(MatchError(ContainSubstring("decoding the registration's install options")))
	})

	It("is made to last by yip files", func() {
		r, ctx := newRig(), context.Background()
		Expect(r.plugin.InstallHostname(ctx, "host-1")).To(Succeed())
		Expect(r.plugin.InstallFile(ctx, osplugin.File{Path: "/var/x/private.key", Mode: 0o600, Content: "key"})).To(Succeed())
		Expect(r.plugin.InstallCloudConfig(ctx, json.RawMessage(`{"runcmd":["x"]}`))).To(Succeed())
		Expect(r.read("/oem/set-hostname.yaml")).To(ContainSubstring("echo host-1 > /etc/hostname"))
		Expect(r.read("/oem/set-file-private-key.yaml")).To(And(ContainSubstring("path: /var/x/private.key"), ContainSubstring("permissions: 384")))
		Expect(r.read("/oem/set-cloud-config.yaml")).To(Equal("#cloud-config\n# Written by elemental-agent.\nruncmd:\n    - x\n"))
	})

	It("keeps the file that is called hostname beside what names the host", func() {
		Expect(r.plugin.InstallFile(ctx, osplugin.File{Path: "/var/x/hostname", Mode: 0o600, Content: "host-1"})).To(Succeed())
		Expect(r.read("/oem/set-hostname.yaml")).To(ContainSubstring("hostname: host-1"))
		Expect(r.read("/oem/set-file-hostname.yaml")).To(ContainSubstring("path: /var/x/hostname"))
	})

	It("unmounts first what one that was killed has left, so that the disk can be partitioned", func() {
		r.mount("0:30 / /", "0:31 / /run/elemental/overlay", "254:4 / /run/elemental/state", "254:4 / /run/elemental/state/.snapshots",
			"254:4 / /run/elemental/workingtree")
		Expect(install(`{}`)).To(Succeed())
		Expect(r.runner.Calls()).To(HaveExactElements(
			"umount "+r.path("/run/elemental/state/.snapshots"), "umount "+r.path("/run/elemental/workingtree"),
			"umount "+r.path("/run/elemental/state"), "elemental install"))
	})
})
