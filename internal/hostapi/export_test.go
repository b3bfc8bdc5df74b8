// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"crypto/ed25519"
	"net"
	"net/http"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/rancher-sandbox/cluster-api-provider-elemental/api/v1beta1"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// What specs compare openapi.yaml with.
var (
	HostPhases    = hostPhases
	AttemptPhases = attemptPhases
	AddressTypes  = addressTypes
	BootModes     = bootModes
)

// Operations are the routes: "METHOD path" to name.
func Operations() map[string]string {
	operations := map[string]string{}
	for _, one := range routes() {
		operations[one.method+" "+one.path] = one.name
	}
	return operations
}

// StoreReport stores a report of a host as it was known, past the server's authentication.
func StoreReport(ctx context.Context, writer client.Client, host *infrav1.ElementalHost, status infrav1.ElementalHostStatus) error {
	known := newHosts(writer, writer)
	quota := newQuota(clock.RealClock{}, newRegistrations(writer, writer, clock.RealClock{}, ""))
	return newReporter(writer, clock.RealClock{}, known, quota).submit(ctx, host, status)
}

// MaxReportWrites is how many reports are written at the same time.
const MaxReportWrites = maxReportWrites

// Reports stores reports as StoreReport does, all by one writer.
func Reports(writer client.Client) func(context.Context, *infrav1.ElementalHost, infrav1.ElementalHostStatus) error {
	quota := newQuota(clock.RealClock{}, newRegistrations(writer, writer, clock.RealClock{}, ""))
	return newReporter(writer, clock.RealClock{}, newHosts(writer, writer), quota).submit
}

// StatusPatch is what a report is written with.
var StatusPatch = statusPatch

// ParseReport is what becomes of a report's body.
func ParseReport(body []byte) (infrav1.ElementalHostStatus, error) {
	report := wire.Report{}
	if err := decodeKnown(body, &report); err != nil {
		return infrav1.ElementalHostStatus{}, err
	}
	return statusOf(report)
}

// ParseCreate is what becomes of a registration's body.
func ParseCreate(body []byte) (wire.HostCreate, ed25519.PublicKey, error) {
	asked := wire.HostCreate{}
	if err := decodeStrict(body, &asked); err != nil {
		return asked, nil, err
	}
	key, err := checkCreate(asked)
	return asked, key, err
}

// VerificationKeys finds the keys that the tokens of registrations are verified with.
func VerificationKeys(live client.Reader, clock clock.PassiveClock) func(context.Context, *infrav1.ElementalRegistration) (ed25519.PublicKey, error) {
	return newRegistrations(nil, live, clock, "").verificationKey
}

// StatusOf is the HTTP status of an error.
func StatusOf(err error) int { return asFailure(err).answer.Code }

// TrackUnproven makes what bounds the connections whose callers have proven nothing.
func TrackUnproven(limit int) func(net.Conn, http.ConnState) { return newUnproven(limit).track }

// Places makes what counts the hosts of registrations.
func Places(cached client.Reader, clock clock.PassiveClock) (
	enter func(context.Context, *infrav1.ElementalRegistration, *infrav1.ElementalHost) error, leave func(*infrav1.ElementalHost),
) {
	made := newPlaces(cached, clock)
	return made.enter, made.leave
}

// MaxShare is how many hosts are created at a time through one registration.
const MaxShare = maxShare

// Admissions makes what bounds the creation of hosts, and tells how many registrations it knows.
func Admissions() (begin func(context.Context, types.NamespacedName) (done func(), err error), registrations func() int) {
	made := newAdmissions()
	return func(ctx context.Context, registration types.NamespacedName) (func(), error) {
		_, done, err := made.begin(ctx, registration)
		return done, err
	}, func() int { return len(made.each) }
}
