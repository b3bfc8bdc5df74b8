// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package imagetrust

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Bounds of a signature's timestamps: cosign requests one timestamp, of about 6 KiB.
const (
	maxTimestamps    = 4
	maxTimestampSize = 16 << 10 // bytes
)

// identities that may sign with certificates of a trusted root.
type identities struct {
	allowed []verify.PolicyOption
	root    *verify.Verifier
	// problem is why the root is missing or invalid.
	problem string
}

// compileIdentities does not fail for an unusable root: the rule may have keys as well, which do not need it.
func compileIdentities(verification *wire.ImageVerification, index int) (identities, error) {
	compiled := identities{}
	given := verification.Rules[index].Identities
	if len(given) == 0 {
		return compiled, nil
	}
	for i, identity := range given {
		allowed, err := compileIdentity(identity)
		if err != nil {
			return compiled, fmt.Errorf("imageVerification.rules[%d].identities[%d]: %w", index, i, err)
		}
		compiled.allowed = append(compiled.allowed, verify.WithCertificateIdentity(allowed))
	}
	compiled.root, compiled.problem = compileRoot(verification)
	return compiled, nil
}

// compileIdentity rejects an identity with empty fields: the library treats them as matching everything.
func compileIdentity(of wire.ImageIdentity) (verify.CertificateIdentity, error) {
	if of.Issuer == "" || (of.Subject == "") == (of.SubjectRegExp == "") {
		return verify.CertificateIdentity{}, errors.New("it needs an issuer, and either subject or subjectRegExp")
	}
	pattern, err := SubjectPattern(of.SubjectRegExp)
	if err != nil {
		return verify.CertificateIdentity{}, fmt.Errorf("subjectRegExp: %w", err)
	}
	return verify.NewShortCertificateIdentity(of.Issuer, "", of.Subject, pattern)
}

// SubjectPattern returns an anchored version of a regular expression; empty for an empty one. The expression must be valid by itself, since
// it could otherwise close the group around it.
func SubjectPattern(expression string) (string, error) {
	if expression == "" {
		return "", nil
	}
	whole := `\A(?:` + expression + `)\z`
	for _, each := range []string{expression, whole} {
		if _, err := regexp.Compile(each); err != nil {
			return "", errors.New("it has to be a Go regular expression (RE2): " + legible(err))
		}
	}
	return whole, nil
}

// compileRoot requires what the public Sigstore instance provides: a log entry, a time from a log or a timestamp authority and, if the root
// lists certificate logs, an embedded SCT. A private root may list none.
func compileRoot(verification *wire.ImageVerification) (*verify.Verifier, string) {
	if len(verification.TrustedRoot) == 0 {
		if verification.TrustedRootError == "" {
			return nil, "imageVerification has identities, but there is no trusted root: set trustedRootRef"
		}
		return nil, verification.TrustedRootError
	}
	unusable := func(err error) string {
		return fmt.Sprintf("ConfigMap %s contains no Sigstore trusted root, as \"cosign trusted-root create --with-default-services\" writes it: %s",
			verification.TrustedRootRef, legible(err))
	}
	trusted, err := root.NewTrustedRootFromJSON(verification.TrustedRoot)
	if err != nil {
		return nil, unusable(err)
	}
	options := []verify.VerifierOption{verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1), verify.WithoutStatementPredicate()}
	if len(trusted.CTLogs()) > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	verifier, err := verify.NewVerifier(trusted, options...)
	if err != nil {
		return nil, unusable(err)
	}
	return verifier, ""
}

// verify reports whether a certificate of one of the identities signed the artifact.
func (i identities) verify(signed verify.SignedEntity, artifact verify.ArtifactPolicyOption) (*verify.VerificationResult, error) {
	if len(i.allowed) == 0 {
		return nil, errors.New("it was made without a key (keyless), but the rule has no identities")
	}
	if i.root == nil {
		return nil, errors.New(i.problem)
	}
	if err := checkTimestamps(signed); err != nil {
		return nil, err
	}
	result, err := i.root.Verify(signed, verify.NewPolicy(artifact, i.allowed...))
	stranger := &verify.ErrNoMatchingCertificateIdentity{}
	if errors.As(err, &stranger) {
		return nil, fmt.Errorf("it was made by %s, who is not among the rule's identities", signerOf(signed))
	}
	if err != nil {
		return nil, errors.New("it cannot be verified: " + legible(err))
	}
	return result, nil
}

// checkTimestamps bounds the work of the library's parser: an attacker may nest structures in a timestamp.
func checkTimestamps(signed verify.SignedEntity) error {
	stamps, err := signed.Timestamps()
	if err != nil {
		return errors.New("its timestamps cannot be read: " + legible(err))
	}
	if len(stamps) > maxTimestamps {
		return fmt.Errorf("it has %d timestamps, more than %d", len(stamps), maxTimestamps)
	}
	for _, stamp := range stamps {
		if len(stamp) > maxTimestampSize {
			return fmt.Errorf("it has a timestamp of %d bytes, more than %d", len(stamp), maxTimestampSize)
		}
	}
	return nil
}

// signerOf returns the signer in the certificate.
func signerOf(signed verify.SignedEntity) string {
	content, err := signed.VerificationContent()
	if err != nil || content.Certificate() == nil {
		return "nobody"
	}
	summary, err := certificate.SummarizeCertificate(content.Certificate())
	if err != nil {
		return "nobody"
	}
	return fmt.Sprintf("%.200q of issuer %.100q", summary.SubjectAlternativeName, summary.Issuer)
}

// legible quotes an error of the library for operators. It is truncated and escaped, because it may contain what an attacker put into a
// signature.
func legible(err error) string { return fmt.Sprintf("%.240q", err.Error()) }
