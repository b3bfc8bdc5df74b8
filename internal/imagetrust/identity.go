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

// What a signature may have of timestamps: cosign asks one authority, and authorities answer with some 6 KiB.
const (
	maxTimestamps    = 4
	maxTimestampSize = 16 << 10 // bytes
)

// identities may sign by certificates of a trusted root.
type identities struct {
	allowed []verify.PolicyOption
	root    *verify.Verifier
	// problem is why there is no root.
	problem string
}

// compileIdentities leaves an unusable root to those who need it: a rule may have keys besides, which are good without one.
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

// compileIdentity refuses an identity that would be anybody's: the library takes an empty text for one that matches all.
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

// SubjectPattern is a regular expression that matches what another one matches as a whole; empty for none. The other one has to
// be one by itself, or it could end the group that it is put into.
func SubjectPattern(expression string) (string, error) {
	if expression == "" {
		return "", nil
	}
	whole := `\A(?:` + expression + `)\z`
	for _, each := range []string{expression, whole} {
		if _, err := regexp.Compile(each); err != nil {
			return "", errors.New("it has to be a regular expression of Go (RE2): " + legible(err))
		}
	}
	return whole, nil
}

// compileRoot asks of signatures what the public instance of sigstore offers: an entry in a log, a time that a log or an
// authority vouches for, and, where the root lists logs of certificates, that the certificate is in one. A root of one's own
// may list none.
func compileRoot(verification *wire.ImageVerification) (*verify.Verifier, string) {
	if len(verification.TrustedRoot) == 0 {
		if verification.TrustedRootError == "" {
			return nil, "imageVerification has identities, but there is no trusted root: set trustedRootRef"
		}
		return nil, verification.TrustedRootError
	}
	unusable := func(err error) string {
		return fmt.Sprintf("ConfigMap %s holds no trusted root of sigstore, as \"cosign trusted-root create --with-default-services\" writes it: %s",
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
		return nil, errors.New("it was made without a key (keyless), and the rule has no identities")
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

// checkTimestamps refuses what the library's parser would be busy with for long: a stranger may nest in a timestamp what he likes.
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

// signerOf names who signed, as the certificate has it.
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

// legible is a text of the library for operators. It may hold what a stranger has put into a signature, so that it is cut, and
// what is not printable is escaped.
func legible(err error) string { return fmt.Sprintf("%.240q", err.Error()) }
