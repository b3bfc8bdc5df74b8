// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/config"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/agent/system"
	"github.com/rancher-sandbox/cluster-api-provider-elemental/internal/wire"
)

// Files of the identity in the work directory.
const (
	// KeyFile is the PEM-encoded (PKCS #8) private key, mode 0600.
	KeyFile = "private.key"
	// NameFile is the name of the host.
	NameFile = "hostname"
	// RegisteredFile records which registration has registered the host.
	RegisteredFile = "registered.json"
)

const (
	keyBlock    = "PRIVATE KEY"
	publicBlock = "PUBLIC KEY"
	// notBefore is how far a token reaches back, to allow for clock skew.
	notBefore = 2 * time.Second
	// randomNameBytes make names unique within a fleet.
	randomNameBytes = 16
)

// hostName matches the names that the Elemental API accepts: RFC 1123 labels.
var hostName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Identity of a host.
type Identity struct {
	// Name of the host, an RFC 1123 label.
	Name string
	key  ed25519.PrivateKey
}

// Load returns the identity in the work directory, and creates what is missing. It can be interrupted and called again: existing parts are
// never replaced. The name is created before the key: a key without a name belongs to the predecessor's agent, which kept the name in
// /etc/hostname only, and such a host keeps its name.
func Load(host *system.Host, workDir string, options config.Hostname) (*Identity, error) {
	if IsPredecessors(workDir) {
		options.UseExisting = true
		if _, err := loadKey(filepath.Join(workDir, KeyFile)); err != nil {
			return nil, err
		}
	}
	name, err := loadName(host, filepath.Join(workDir, NameFile), options)
	if err != nil {
		return nil, err
	}
	key, err := loadKey(filepath.Join(workDir, KeyFile))
	if err != nil {
		return nil, err
	}
	return &Identity{Name: name, key: key}, nil
}

// Read returns the identity in the work directory without creating one. The error is fs.ErrNotExist if it is incomplete.
func Read(workDir string) (*Identity, error) {
	if !Exists(workDir) {
		return nil, fmt.Errorf("reading the identity in %s: %w", workDir, fs.ErrNotExist)
	}
	name, err := os.ReadFile(filepath.Join(workDir, NameFile))
	if err != nil {
		return nil, fmt.Errorf("reading host name: %w", err)
	}
	key, err := loadKey(filepath.Join(workDir, KeyFile))
	if err != nil {
		return nil, err
	}
	return &Identity{Name: strings.TrimSpace(string(name)), key: key}, nil
}

// Exists reports whether the work directory has a complete identity.
func Exists(workDir string) bool {
	for _, file := range []string{KeyFile, NameFile} {
		if _, err := os.Stat(filepath.Join(workDir, file)); err != nil {
			return false
		}
	}
	return true
}

// Same reports whether two directories have the same key.
func Same(one, other string) (bool, error) {
	first, err := loadKey(filepath.Join(one, KeyFile))
	if err != nil {
		return false, err
	}
	second, err := loadKey(filepath.Join(other, KeyFile))
	return err == nil && first.Equal(second), err
}

// IsPredecessors reports whether the identity is one of the predecessor's agent, before Load has completed it: a key without a name.
func IsPredecessors(workDir string) bool {
	_, key := os.Stat(filepath.Join(workDir, KeyFile))
	_, name := os.Stat(filepath.Join(workDir, NameFile))
	return key == nil && errors.Is(name, fs.ErrNotExist)
}

// Remove removes the identity.
func Remove(workDir string) error {
	return errors.Join(system.RemoveFile(filepath.Join(workDir, KeyFile)), system.RemoveFile(filepath.Join(workDir, NameFile)))
}

// PublicKey is the PEM-encoded (PKIX) public key.
func (i *Identity) PublicKey() (string, error) {
	encoded, err := x509.MarshalPKIXPublicKey(i.key.Public())
	if err != nil {
		return "", fmt.Errorf("encoding public key: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: encoded})), nil
}

// Token signs a token for one request to audience.
func (i *Identity) Token(audience string, now time.Time) (string, error) {
	claims := jwt.RegisteredClaims{
		Subject:   i.Name,
		Audience:  jwt.ClaimStrings{audience},
		IssuedAt:  jwt.NewNumericDate(now),
		NotBefore: jwt.NewNumericDate(now.Add(-notBefore)),
		ExpiresAt: jwt.NewNumericDate(now.Add(wire.HostTokenLifetime)),
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims).SignedString(i.key)
	if err != nil {
		return "", fmt.Errorf("signing host token: %w", err)
	}
	return token, nil
}

func loadKey(path string) (ed25519.PrivateKey, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading host key: %w", err)
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("decoding host key %s: it is not PEM; remove it to make the host a new one", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("decoding host key %s: %w", path, err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("decoding host key %s: it is a %T, an Ed25519 key is needed", path, parsed)
	}
	return key, nil
}

func createKey(path string) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating host key: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding host key: %w", err)
	}
	content := pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: encoded})
	if err := system.WriteFile(path, content, 0o600); err != nil {
		return nil, fmt.Errorf("storing host key: %w", err)
	}
	return key, nil
}

func loadName(host *system.Host, path string, options config.Hostname) (string, error) {
	content, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(content)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading host name: %w", err)
	}
	name, err := newName(host, options)
	if err != nil {
		return "", err
	}
	if err := system.WriteFile(path, []byte(name+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("storing host name: %w", err)
	}
	return name, nil
}

func newName(host *system.Host, options config.Hostname) (string, error) {
	name, err := candidate(host, options)
	if err != nil {
		return "", err
	}
	if !hostName.MatchString(name) {
		return "", fmt.Errorf("host name %q is not usable: it has to be 1 to 63 lower-case letters, digits and dashes; "+
			"set /etc/hostname or agent.hostname.prefix accordingly", name)
	}
	return name, nil
}

func candidate(host *system.Host, options config.Hostname) (string, error) {
	if !options.UseExisting {
		random := make([]byte, randomNameBytes)
		if _, err := rand.Read(random); err != nil {
			return "", fmt.Errorf("generating host name: %w", err)
		}
		return options.Prefix + hex.EncodeToString(random), nil
	}
	name, err := host.ReadTrimmed("/etc/hostname")
	if err != nil {
		return "", err
	}
	if name == "" {
		return "", errors.New("agent.hostname.useExisting is set, but /etc/hostname is missing or empty")
	}
	// A fully qualified name has dots, which host names must not contain.
	first, _, _ := strings.Cut(name, ".")
	return strings.ToLower(first), nil
}
