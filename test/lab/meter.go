// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/kube"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/test/lab/process"
)

// meter counts traffic between managers and API servers in a metered lab. Our managers and Cluster API's use separate
// proxies, because both find workload clusters by the same kubeconfigs.
type meter struct{ ours, others *process.Proxy }

func (l *Lab) startMeter() (err error) {
	if !l.options.Metered {
		return nil
	}
	if l.meter.ours, err = process.NewProxy(nil); err != nil {
		return err
	}
	l.meter.others, err = process.NewProxy(nil)
	return err
}

func (m meter) close() {
	for _, proxy := range []*process.Proxy{m.ours, m.others} {
		if proxy != nil {
			proxy.Close()
		}
	}
}

// add registers an API server with the proxies.
func (m meter) add(cluster *kube.Cluster) {
	for _, proxy := range []*process.Proxy{m.ours, m.others} {
		if proxy != nil {
			proxy.Add(cluster.ServiceName(), cluster.Port())
		}
	}
}

// meterManagers makes the managers use the proxies.
func (l *Lab) meterManagers() {
	if !l.options.Metered {
		return
	}
	for _, manager := range l.providers() {
		manager.Env = append(manager.Env, l.meter.others.Env()...)
	}
	for _, manager := range l.Managers {
		manager.ByService = true
		manager.Env = append(manager.Env, l.meter.ours.Env()...)
	}
}

// Traffic is what all replicas of our manager together have exchanged with the API server of a cluster so far. It needs
// Options.Metered.
func (l *Lab) Traffic(cluster *kube.Cluster) process.Traffic {
	return l.meter.ours.Traffic(cluster.ServiceName())
}
