// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/client"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/identity"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/version"
)

// maxSkew is how far the clock of a host may be off: the API accepts a token from two seconds before it was issued, for a minute.
const maxSkew = 2 * time.Second

// ErrFailed says that at least one check failed; the details were printed.
var ErrFailed = errors.New("some checks failed, see the lines that begin with FAILED")

// Subject is the host to inspect.
type Subject struct {
	// Host that the agent runs on.
	Host *system.Host
	// ConfigPath of the agent's configuration, a real path.
	ConfigPath string
}

// finding of one check; a nil error means that it passed.
type finding struct {
	name, good string
	err        error
}

// Check checks everything that the agent needs, and prints a line for each. It returns ErrFailed if a check failed.
func Check(ctx context.Context, out io.Writer, subject Subject) error {
	var failed error
	for _, each := range findings(ctx, subject) {
		verdict, text := "ok", each.good
		if each.err != nil {
			verdict, text, failed = "FAILED", each.err.Error(), ErrFailed
		}
		if _, err := fmt.Fprintf(out, "%-7s %-14s %s\n", verdict, each.name, text); err != nil {
			return err
		}
	}
	return failed
}

func findings(ctx context.Context, subject Subject) []finding {
	settings, err := config.Load(subject.ConfigPath)
	all := []finding{{"configuration", subject.ConfigPath, err}}
	if err != nil {
		return all
	}
	directory := settings.Agent.WorkDir
	all = append(all, finding{"persistence", directory, Persistent(subject.Host, directory)})
	return append(all, ofAPI(ctx, subject.Host, settings)...)
}

const copyAgain = "copy registration.token again from the Secret that status.tokenSecretName of the ElementalRegistration names"

// ofAPI calls the API with the registration token and, if the host has a key, as the host. Nothing is registered.
func ofAPI(ctx context.Context, host *system.Host, settings config.Config) []finding {
	transport, err := client.NewTransport(settings)
	if err != nil {
		return []finding{{"api", "", err}}
	}
	own, identityErr := identity.Read(host.Path(settings.Agent.WorkDir))
	dated := &dated{next: transport, clock: host.Clock}
	api := client.New(client.Options{
		URI: settings.Registration.URI, Token: settings.Registration.Token, Identity: own, Transport: dated, Clock: host.Clock,
		UserAgent: "elemental-agent/" + version.Version,
	})
	defer api.Close()
	_, err = api.Registration(ctx)
	var answer *client.APIError
	if err != nil && !errors.As(err, &answer) {
		return []finding{{"api", "", unreachable(err, host.Clock)}}
	}
	all := []finding{
		{"api", settings.Registration.URI + " answers", nil}, {"clock", "agrees with the API's", dated.skewed()},
		{"token", "the registration accepts it", hint(err, copyAgain)},
	}
	if errors.Is(identityErr, fs.ErrNotExist) {
		return append(all, finding{"key", "there is none yet: the host has not registered", nil})
	}
	if identityErr != nil {
		return append(all, finding{"key", "", identityErr})
	}
	_, _, err = api.Desired(ctx, "", 0)
	return append(all, finding{"key", "the API knows the host " + own.Name + " by it", ofKey(err, dated.skewed(), own.Name)})
}

// ofKey distinguishes a wrong clock, which makes the API refuse every token of the host, from a wrong key.
func ofKey(err, skewed error, name string) error {
	switch {
	case errors.Is(err, client.ErrUnauthorized) && skewed != nil:
		return fmt.Errorf("it cannot be checked while the clock is wrong: %w", err)
	case errors.Is(err, client.ErrUnauthorized):
		return fmt.Errorf("%w; the clock is right, so the ElementalHost %s has another key: delete it if it is this machine", err, name)
	case errors.Is(err, client.ErrNotFound):
		return fmt.Errorf("%w; there is no ElementalHost %s: the agent registers it when it runs", err, name)
	}
	return err
}

func hint(err error, todo string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; %s", err, todo)
}

// unreachable adds to the error of a failed request what to do about it.
func unreachable(err error, clock system.Clock) error {
	var expired x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid *tls.CertificateVerificationError
	switch {
	case errors.As(err, &expired) && expired.Reason == x509.Expired:
		return fmt.Errorf("%w; the certificate is valid from %s to %s and the host's clock says %s: set the clock or renew the certificate", err,
			expired.Cert.NotBefore.UTC().Format(time.RFC3339), expired.Cert.NotAfter.UTC().Format(time.RFC3339), clock.Now().UTC().Format(time.RFC3339))
	case errors.As(err, &unknown):
		return hint(err, "registration.caCert is not the authority of the API's certificate: copy it again from status.caCert of the ElementalRegistration")
	case errors.As(err, &name), errors.As(err, &invalid):
		return hint(err, "registration.uri has to have a name that the API's certificate is for")
	}
	return hint(err, "check the host's network, name resolution and proxy, and whether the API is up")
}

// dated records the time of the API's last response, by its clock and by the host's.
type dated struct {
	next  http.RoundTripper
	clock system.Clock

	lock      sync.Mutex
	skew      time.Duration
	uncertain time.Duration
}

// RoundTrip is http.RoundTripper's.
func (d *dated) RoundTrip(request *http.Request) (*http.Response, error) {
	asked := d.clock.Now()
	response, err := d.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	// The Date header has whole seconds, and was set at some time between request and response.
	if theirs, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		d.lock.Lock()
		defer d.lock.Unlock()
		d.skew, d.uncertain = asked.Sub(theirs), d.clock.Now().Sub(asked)+time.Second
	}
	return response, nil
}

func (d *dated) skewed() error {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.skew.Abs() <= maxSkew+d.uncertain {
		return nil
	}
	direction := "ahead of"
	if d.skew < 0 {
		direction = "behind"
	}
	return fmt.Errorf("the host's clock is %s %s the API's: the API refuses the host's tokens; set the clock, and check its time synchronization",
		d.skew.Abs().Round(time.Second), direction)
}

// CloseIdleConnections passes the call of http.Client on.
func (d *dated) CloseIdleConnections() {
	if closer, ok := d.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
