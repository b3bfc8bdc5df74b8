// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package token_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/token"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

const (
	uri   = "https://api.example.com/elemental/v1/namespaces/prod/registrations/edge"
	other = "https://api.example.com/elemental/v1/namespaces/test/registrations/edge"
	host  = "m-1"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// claims of a good host token; a spec spoils one of them.
func claims() jwt.MapClaims {
	return jwt.MapClaims{
		"sub": host, "aud": uri, "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(wire.HostTokenLifetime).Unix(),
	}
}

func newKey() (ed25519.PublicKey, ed25519.PrivateKey) {
	GinkgoHelper()
	public, private, err := ed25519.GenerateKey(nil)
	Expect(err).NotTo(HaveOccurred())
	return public, private
}

func signed(method jwt.SigningMethod, with jwt.MapClaims, key any) string {
	GinkgoHelper()
	raw, err := jwt.NewWithClaims(method, with).SignedString(key)
	Expect(err).NotTo(HaveOccurred())
	return raw
}

var _ = DescribeTable("Two texts", func(change func(string) (string, string), same bool) {
	public, _ := newKey()
	encoded, err := token.EncodePublicKey(public)
	Expect(err).NotTo(HaveOccurred())
	Expect(token.SameKey(change(encoded))).To(Equal(same))
},
	Entry("are the same key", func(key string) (string, string) { return key, key + "\n" }, true),
	Entry("are two keys", func(key string) (string, string) {
		another, _ := newKey()
		encoded, err := token.EncodePublicKey(another)
		Expect(err).NotTo(HaveOccurred())
		return key, encoded
	}, false),
	Entry("are one key and none", func(key string) (string, string) { return key, "none" }, false),
	Entry("are none and one key", func(key string) (string, string) { return "none", key }, false),
	Entry("are no keys, though the same", func(string) (string, string) { return "none", "none" }, false),
)

var _ = Describe("A host token", func() {
	var (
		public  ed25519.PublicKey
		private ed25519.PrivateKey
		uris    = token.Audience{uri}
	)

	BeforeEach(func() { public, private = newKey() })

	It("is accepted as it is signed, and by either name of the registration", func() {
		raw, err := token.SignHostToken(private, host, uri, now)
		Expect(err).NotTo(HaveOccurred())
		Expect(token.VerifyHostToken(raw, public, host, uris, now)).To(Succeed())
		Expect(token.VerifyHostToken(raw, public, host, token.Audience{other, uri}, now)).To(Succeed())
		Expect(token.CheckHostClaims(raw, host, uris)).To(Succeed())
	})

	It("is refused with another key", func() {
		foreign, _ := newKey()
		raw := signed(jwt.SigningMethodEdDSA, claims(), private)
		Expect(token.VerifyHostToken(raw, foreign, host, uris, now)).To(MatchError(token.ErrInvalid))
		Expect(token.VerifyHostToken(raw, nil, host, uris, now)).To(MatchError(token.ErrInvalid))
	})

	It("is refused when it was changed after it was signed", func() {
		parts := strings.Split(signed(jwt.SigningMethodEdDSA, claims(), private), ".")
		longer := claims()
		longer["exp"] = now.Add(2 * time.Minute).Unix()
		parts[1] = strings.Split(signed(jwt.SigningMethodEdDSA, longer, private), ".")[1]
		Expect(token.VerifyHostToken(strings.Join(parts, "."), public, host, uris, now)).To(MatchError(token.ErrInvalid))
	})

	DescribeTable("is judged by its claims",
		func(change func(jwt.MapClaims), want error) {
			with := claims()
			change(with)
			err := token.VerifyHostToken(signed(jwt.SigningMethodEdDSA, with, private), public, host, uris, now)
			if want == nil {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(want))
		},
		Entry("all there", func(jwt.MapClaims) {}, nil),
		Entry("one of several audiences", func(c jwt.MapClaims) { c["aud"] = []string{other, uri} }, nil),
		Entry("no sub", func(c jwt.MapClaims) { delete(c, "sub") }, token.ErrInvalid),
		Entry("no aud", func(c jwt.MapClaims) { delete(c, "aud") }, token.ErrInvalid),
		Entry("no exp", func(c jwt.MapClaims) { delete(c, "exp") }, token.ErrInvalid),
		Entry("another host's sub", func(c jwt.MapClaims) { c["sub"] = "m-2" }, token.ErrOther),
		Entry("another registration's aud", func(c jwt.MapClaims) { c["aud"] = other }, token.ErrOther),
		Entry("a prefix of the aud", func(c jwt.MapClaims) { c["aud"] = uri[:len(uri)-1] }, token.ErrOther),
		Entry("as long a life as may be", func(c jwt.MapClaims) { c["exp"] = now.Add(wire.HostTokenLifetime + wire.ClockSkew).Unix() }, nil),
		Entry("expired within the forgiven skew", func(c jwt.MapClaims) { c["exp"] = now.Add(1-wire.ClockSkew).Unix() + 1 }, nil),
		Entry("expired", func(c jwt.MapClaims) { c["exp"] = now.Add(-wire.ClockSkew - time.Second).Unix() }, token.ErrInvalid),
		Entry("a clock ahead by less than the skew", func(c jwt.MapClaims) {
			ahead := now.Add(wire.ClockSkew - time.Second)
			c["iat"], c["nbf"], c["exp"] = ahead.Unix(), ahead.Unix(), ahead.Add(wire.HostTokenLifetime).Unix()
		}, nil),
		Entry("issued in the future", func(c jwt.MapClaims) { c["iat"] = now.Add(wire.ClockSkew + time.Second).Unix() }, token.ErrInvalid),
		Entry("not valid yet", func(c jwt.MapClaims) { c["nbf"] = now.Add(wire.ClockSkew + time.Second).Unix() }, token.ErrInvalid),
		Entry("no iat", func(c jwt.MapClaims) { delete(c, "iat") }, nil),
		Entry("too long a life", func(c jwt.MapClaims) { c["exp"] = now.Add(time.Hour).Unix() }, token.ErrInvalid),
		Entry("too long a life, hidden by no iat", func(c jwt.MapClaims) {
			delete(c, "iat")
			c["exp"] = now.Add(time.Hour).Unix()
		}, token.ErrInvalid),
		Entry("too long a life, of which most is over", func(c jwt.MapClaims) { c["iat"] = now.Add(-time.Hour).Unix() }, token.ErrInvalid),
	)

	It("is refused when it is signed with anything but EdDSA", func() {
		pem, err := token.EncodePublicKey(public)
		Expect(err).NotTo(HaveOccurred())
		for _, raw := range []string{
			signed(jwt.SigningMethodNone, claims(), jwt.UnsafeAllowNoneSignatureType),
			signed(jwt.SigningMethodHS256, claims(), []byte(pem)),
			signed(jwt.SigningMethodHS256, claims(), []byte(public)),
		} {
			Expect(token.VerifyHostToken(raw, public, host, uris, now)).To(MatchError(token.ErrInvalid))
		}
	})

	DescribeTable("is refused when it is no token", func(raw string) {
		Expect(token.VerifyHostToken(raw, public, host, uris, now)).To(MatchError(token.ErrInvalid))
	},
		Entry("empty", ""),
		Entry("dots", ".."),
		Entry("not base64", "a.!.c"),
		Entry("endless", strings.Repeat("a", 1<<16)),
	)
})

var _ = Describe("A registration token", func() {
	It("is accepted with the registration's key until it expires", func() {
		pem, err := token.NewSigningKey()
		Expect(err).NotTo(HaveOccurred())
		private, err := token.ParseSigningKey(pem)
		Expect(err).NotTo(HaveOccurred())
		public := private.Public().(ed25519.PublicKey)

		raw, err := token.SignRegistrationToken(pem, uri, now, time.Hour)
		Expect(err).NotTo(HaveOccurred())
		Expect(token.ExpiresAt(raw)).To(BeTemporally("==", now.Add(time.Hour)))
		Expect(token.VerifyRegistrationToken(raw, public, token.Audience{uri}, now)).To(Succeed())
		Expect(token.VerifyRegistrationToken(raw, public, token.Audience{other}, now)).To(MatchError(token.ErrOther))
		late := now.Add(time.Hour + wire.ClockSkew + time.Second)
		Expect(token.VerifyRegistrationToken(raw, public, token.Audience{uri}, late)).To(MatchError(token.ErrInvalid))
	})

	It("is not replaced by one that names the registration as audience only", func() {
		public, private := newKey()
		raw, err := token.SignHostToken(private, host, uri, now)
		Expect(err).NotTo(HaveOccurred())
		Expect(token.VerifyRegistrationToken(raw, public, token.Audience{uri}, now)).To(MatchError(token.ErrOther))
	})

	It("is known by its issuer, where it has one, as the predecessor's host tokens", func() {
		_, private := newKey()
		with := claims()
		with["iss"] = "elemental-agent/v0.7.0"
		Expect(token.Issuer(signed(jwt.SigningMethodEdDSA, with, private))).To(Equal("elemental-agent/v0.7.0"))
		Expect(token.Issuer(signed(jwt.SigningMethodEdDSA, claims(), private))).To(BeEmpty())
		Expect(token.Issuer("none")).To(BeEmpty())
	})

	It("is known not to expire, as the predecessor's", func() {
		_, private := newKey()
		_, err := token.ExpiresAt(signed(jwt.SigningMethodEdDSA, jwt.MapClaims{"sub": uri, "aud": uri}, private))
		Expect(err).To(MatchError(ContainSubstring("does not expire")))
	})
})

var _ = Describe("A public key", func() {
	It("is read as it is written", func() {
		public, _ := newKey()
		pem, err := token.EncodePublicKey(public)
		Expect(err).NotTo(HaveOccurred())
		Expect(token.ParsePublicKey(pem)).To(Equal(public))
		_, err = token.ParsePublicKey(pem + pem)
		Expect(err).To(MatchError(ContainSubstring("more follows")))
	})

	DescribeTable("is refused", func(pem, reason string) {
		_, err := token.ParsePublicKey(pem)
		Expect(err).To(MatchError(ContainSubstring(reason)))
	},
		Entry("not PEM", "hello", "not PEM-encoded"),
		Entry("another block", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", `want "PUBLIC KEY"`),
	)

	It("is refused when it is not Ed25519", func() {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		Expect(err).NotTo(HaveOccurred())
		der, err := x509.MarshalPKIXPublicKey(private.Public())
		Expect(err).NotTo(HaveOccurred())
		_, err = token.ParsePublicKey(string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
		Expect(err).To(MatchError(ContainSubstring("want Ed25519")))
	})

	It("has a registration's URI that does not depend on a trailing slash", func() {
		Expect(token.RegistrationURI("https://api.example.com/", "prod", "edge")).To(Equal(uri))
	})
})
