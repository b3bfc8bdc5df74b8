// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/etcd"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/host/kubelet"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// becomeControlPlane is what kubeadm does on a control plane host besides registering its Node: it starts etcd, and
// the first host uploads the ClusterConfiguration.
func (r *running) becomeControlPlane(ctx context.Context, config []byte, join kubelet.Join, first bool) error {
	if r.opts.Kubelet == nil {
		return nil
	}
	if r.opts.Etcd == "" {
		return errors.New("a host without an etcd binary cannot be a control plane")
	}
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	if !first {
		return r.joinEtcd(ctx, join)
	}
	member, err := etcd.Create(r.etcdOptions(join))
	if err != nil {
		return err
	}
	r.runEtcd(member)
	if err := member.AwaitReady(ctx); err != nil {
		return err
	}
	cluster, err := kubelet.ClusterConfiguration(config)
	if err != nil {
		return err
	}
	return r.opts.Kubelet.UploadConfig(ctx, cluster)
}

func (r *running) joinEtcd(ctx context.Context, join kubelet.Join) error {
	endpoints, err := r.opts.Kubelet.EtcdEndpoints(ctx)
	if err != nil {
		return err
	}
	member, err := etcd.Join(ctx, r.etcdOptions(join), endpoints)
	if err != nil {
		return fmt.Errorf("adding a member to etcd: %w", err)
	}
	r.runEtcd(member)
	if err := member.Promote(ctx, endpoints); err != nil {
		return fmt.Errorf("promoting the member of etcd: %w", err)
	}
	return member.AwaitReady(ctx)
}

func (r *running) etcdOptions(join kubelet.Join) etcd.Options {
	return etcd.Options{
		Name: join.NodeName, Address: r.opts.Kubelet.Address(join.NodeName), Root: r.opts.Root, Binary: r.opts.Etcd,
	}
}

func (r *running) runEtcd(member *etcd.Member) {
	r.etcd = member
	r.wg.Go(func() { member.Run(r.ctx) })
}

// startEtcd starts the member that the host joined with in an earlier boot; kubeadm has started it in this one.
func (r *running) startEtcd(join kubelet.Join) error {
	if r.etcd != nil || !join.ControlPlane || join.Service == kubelet.RKE2Server || r.opts.Kubelet == nil || r.opts.Etcd == "" {
		return nil
	}
	member, err := etcd.Load(r.etcdOptions(join))
	if err != nil || member == nil {
		return err
	}
	r.runEtcd(member)
	return nil
}
