// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"encoding/json"
	"fmt"

	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/osversion"
)

// question is an UpdateMachine request. Whoever sent it, all that is taken from it is which Machine it is about: objects
// are read by that name. What else it says can only keep something from being done, where it is not what was read.
type question struct {
	machine client.ObjectKey
	// isOurs reports whether the infrastructure machine of the request is an ElementalMachine, elemental is its key, and hash
	// that of its OS.
	isOurs    bool
	elemental client.ObjectKey
	hash      string
	// isUnmanaged reports whether the request asks for no image.
	isUnmanaged bool
}

// contradiction is a request that says something else than the objects that it is about, in what does not change. To ask
// it again leads nowhere.
type contradiction struct{ message string }

func (c *contradiction) Error() string { return c.message }

func contradicts(format string, args ...any) error {
	return &contradiction{message: fmt.Sprintf(format, args...)}
}

// readQuestion reads a request; what cannot be read is a contradiction.
func readQuestion(req *runtimehooksv1.UpdateMachineRequest) (*question, error) {
	object, err := decodeDocument("desired.infrastructureMachine", req.Desired.InfrastructureMachine)
	if err != nil {
		return nil, contradicts("%s", err)
	}
	asked := &question{machine: client.ObjectKeyFromObject(&req.Desired.Machine), isOurs: isElemental(object, elementalMachineKind)}
	if !asked.isOurs {
		return asked, nil
	}
	elemental := &infrav1.ElementalMachine{}
	if err := json.Unmarshal(req.Desired.InfrastructureMachine.Raw, elemental); err != nil {
		return nil, contradicts("reading desired.infrastructureMachine: %s", err)
	}
	version, err := osversion.Decode(elemental.Spec.OSVersionManagement)
	if err != nil {
		return nil, contradicts("reading ElementalMachine %s: %s", elemental.Name, err)
	}
	asked.isUnmanaged = version.ImageURI == ""
	asked.elemental = client.ObjectKeyFromObject(elemental)
	asked.hash = osversion.Hash(elemental.Spec.OSVersionManagement)
	return asked, nil
}
