// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

// Bootstrap data in the form that the bootstrap providers for kubeadm, RKE2 and K3s write. Commands that do
// not exist on a host of the lab replace what installs and starts Kubernetes; as in cloud-init, a command
// that fails does not keep the next from running.
const (
	kubeadmData = `## template: jinja
#cloud-config

write_files:
-   path: /run/kubeadm/kubeadm-join-config.yaml
    owner: root:root
    permissions: '0640'
    content: |
      ---
      apiVersion: kubeadm.k8s.io/v1beta4
      kind: JoinConfiguration
      discovery:
        bootstrapToken:
          apiServerEndpoint: 192.168.122.50:6443
          token: abcdef.0123456789abcdef
          unsafeSkipCAVerification: true
      nodeRegistration:
        imagePullPolicy: IfNotPresent
-   path: /run/cluster-api/placeholder
    owner: root:root
    permissions: '0640'
    content: "This placeholder file is used to create the /run/cluster-api sub directory"
runcmd:
  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > /run/cluster-api/bootstrap-success.complete
`
	rke2Data = `#cloud-config

write_files:
-   path: /etc/rancher/rke2/config.yaml
    owner: root:root
    permissions: '0640'
    content: |
      server: https://192.168.122.50:9345
      token: secret
runcmd:
  - 'touch /etc/rke2-started'
  - '/opt/rke2-cis-script.sh'
  - 'systemctl enable rke2-agent.service'
  - 'mkdir -p /run/cluster-api'
  - 'echo success > /run/cluster-api/bootstrap-success.complete'
`
	k3sData = `#cloud-config

write_files:
-   path: /etc/rancher/k3s/config.yaml
    owner: root:root
    permissions: '0640'
    encoding: b64
    content: c2VydmVyOiBodHRwczovLzE5Mi4xNjguMTIyLjUwOjY0NDMK
runcmd:
  - 'touch /etc/k3s-started'
  - 'mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete'
`
)
