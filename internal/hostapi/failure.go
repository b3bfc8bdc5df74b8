// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// retryAfter is when to retry a request that failed temporarily.
const retryAfter = 5 * time.Second

// failure is a response that is not 2xx. Its message is sent to the host, so it must not contain anything the host may not know.
type failure struct {
	answer wire.Error
	header http.Header
}

func (f *failure) Error() string { return fmt.Sprintf("%d: %s", f.answer.Code, f.answer.Message) }

// refuse returns a failure with a message that says what is wrong and what to do.
func refuse(status int, format string, args ...any) *failure {
	return &failure{answer: wire.Error{Code: status, Message: fmt.Sprintf(format, args...)}}
}

func refuseForNow(message string) *failure {
	refusal := refuse(http.StatusServiceUnavailable, "%s, try again", message)
	refusal.header = comeBack(retryAfter)
	return refusal
}

// refuseTooMany returns and counts a failure for a write that a quota refuses for now.
func refuseTooMany(reason string, wait time.Duration, format string, args ...any) *failure {
	refusedWrites.WithLabelValues(reason).Inc()
	refusal := refuse(http.StatusTooManyRequests, format, args...)
	refusal.header = comeBack(wait)
	return refusal
}

// comeBack returns the Retry-After header, in whole seconds.
func comeBack(wait time.Duration) http.Header {
	return http.Header{"Retry-After": {strconv.Itoa(max(1, int(math.Ceil(wait.Seconds()))))}}
}

// refuseToken translates an error of package token.
func refuseToken(which string, err error) *failure {
	if errors.Is(err, token.ErrOther) {
		return refuse(http.StatusForbidden, "%s: %s", which, err)
	}
	refusal := refuse(http.StatusUnauthorized, "%s: %s", which, err)
	refusal.header = http.Header{"Www-Authenticate": {"Bearer"}}
	return refusal
}

// asFailure converts an error to a failure. Errors of the API server are only logged.
func asFailure(err error) *failure {
	var known *failure
	switch {
	case errors.As(err, &known):
		return known
	case isBusy(err):
		return refuseForNow("the management cluster is busy")
	default:
		return refuse(http.StatusInternalServerError, "the management cluster could not serve the request, see the manager's log")
	}
}

func isBusy(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || errors.Is(err, context.DeadlineExceeded)
}
