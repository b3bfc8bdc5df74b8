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

// question is an UpdateMachine request. Its caller is not trusted: only the name of the Machine is used, and objects are read by that
// name. Its other content can only prevent an action, if it differs from what was read.
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

// contradiction is a request that contradicts immutable fields of the stored objects. Retrying it is useless.
type contradiction struct{ message string }

func (c *contradiction) Error() string { return c.message }

func contradicts(format string, args ...any) error {
	return &contradiction{message: fmt.Sprintf(format, args...)}
}

// readQuestion decodes a request; an invalid request is a contradiction.
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
