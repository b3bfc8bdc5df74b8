#!/usr/bin/env bash
# Copyright 2026 The Cluster API Provider Elemental Authors.
# SPDX-License-Identifier: Apache-2.0
#
# What every OS image gets after its packages and its Kubernetes: the agent's units are enabled, what SUSE's base images bring for another
# manager is turned off, what would be the same on all hosts is removed, and the elemental CLI makes the image bootable.
set -euo pipefail

enable_agent() {
  # Each looks by itself whether it is in an installed OS, live media or the recovery system.
  systemctl enable elemental-agent.service elemental-agent-install.service elemental-agent-reset.service
}

# The services of the elemental operator would install and register the host a second time, and its checker would have a boot fail
# for a service that does not run.
disable_operator() {
  rm -f /system/oem/99_elemental-register-install.yaml /system/oem/99_elemental_system_agent.yaml /usr/libexec/elemental-checker/elemental-register.sh
  systemctl mask elemental-register.timer elemental-register.service elemental-register-install.service elemental-register-reset.service \
    elemental-system-agent.service elemental-populate-node-labels.service
}

# A key or an identity in the image would be that of every host, and readable in the registry.
forget_identity() {
  rm -rf /etc/ssh/ssh_host_* /var/lib/systemd/random-seed /etc/elemental/agent /oem/* /root/.ssh /root/.docker /root/.bash_history
  : >/etc/machine-id
}

describe_image() {
  sed -i --follow-symlinks -E '/^(IMAGE|IMAGE_REPO|IMAGE_TAG|TIMESTAMP|GRUB_ENTRY_NAME)=/d' /etc/os-release
  {
    echo "IMAGE_REPO=\"${IMAGE%:*}\""
    echo "IMAGE_TAG=\"${IMAGE##*:}\""
    echo "IMAGE=\"$IMAGE\""
    echo 'GRUB_ENTRY_NAME="Elemental"'
  } >>/etc/os-release
}

make_bootable() {
  local features=$FEATURES
  [ -e /etc/elemental/bootargs.cfg ] || features="$features grub-default-bootargs"
  # The CLI takes what it logs for success where dracut fails.
  # shellcheck disable=SC2086
  elemental init --force $features
  for file in /boot/vmlinuz /boot/initrd; do
    [ -s "$file" ] && continue
    echo "$file is not there, or empty: BASE has to bring a kernel with its modules, and dracut" >&2
    exit 1
  done
}

enable_agent
disable_operator
forget_identity
describe_image
make_bootable
rm -rf /tmp/* /var/cache/zypp/* /var/log/zypp /var/log/zypper.log /var/log/update*
