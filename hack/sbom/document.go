// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

const (
	homepage   = "https://github.com/rancher-sandbox/cluster-api-provider-elemental"
	documentID = "SPDXRef-DOCUMENT"
	unknown    = "NOASSERTION"
)

// programs that are released, by the folder that each is built from.
var programs = []string{"cmd/manager", "cmd/elemental-agent"}

// document as of https://spdx.github.io/spdx-spec/v2.3.
type document struct {
	Version       string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []spdxPackage  `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	Name             string        `json:"name"`
	ID               string        `json:"SPDXID"`
	Version          string        `json:"versionInfo"`
	DownloadLocation string        `json:"downloadLocation"`
	FilesAnalyzed    bool          `json:"filesAnalyzed"`
	SourceInfo       string        `json:"sourceInfo,omitempty"`
	LicenseConcluded string        `json:"licenseConcluded"`
	LicenseDeclared  string        `json:"licenseDeclared"`
	Copyright        string        `json:"copyrightText"`
	Purpose          string        `json:"primaryPackagePurpose"`
	References       []externalRef `json:"externalRefs"`
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// describe makes the document of a release.
func describe(version string, created time.Time) (*document, error) {
	goVersion, err := exec.Command("go", "env", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("asking for the version of Go: %w", err)
	}
	doc := &document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: documentID,
		Name: "cluster-api-provider-elemental " + version,
		Creation: creation{
			Created: created.Format(time.RFC3339), Creators: []string{"Organization: The Cluster API Provider Elemental Authors", "Tool: hack-sbom"},
		},
	}
	standard := libraryPackage(module{Path: "stdlib", Version: strings.TrimPrefix(strings.TrimSpace(string(goVersion)), "go")})
	known := map[string]string{}
	for _, program := range programs {
		modules, err := modulesOf("./" + program)
		if err != nil {
			return nil, err
		}
		ours := programPackage(program, version)
		doc.Packages = append(doc.Packages, ours)
		doc.relate(documentID, "DESCRIBES", ours)
		libraries := []spdxPackage{standard}
		for _, m := range modules {
			libraries = append(libraries, libraryPackage(m))
		}
		for _, library := range libraries {
			other, isKnown := known[library.ID]
			if isKnown && other != library.Name {
				return nil, fmt.Errorf("modules %s and %s have the same identifier %s", other, library.Name, library.ID)
			}
			if !isKnown {
				doc.Packages = append(doc.Packages, library)
				known[library.ID] = library.Name
			}
			doc.relate(ours.ID, "DEPENDS_ON", library)
		}
	}
	doc.Namespace = namespace(version, doc)
	return doc, nil
}

func (d *document) relate(element, how string, related spdxPackage) {
	d.Relationships = append(d.Relationships, relationship{Element: element, Type: how, Related: related.ID})
}

// namespace of a document: no other content may ever have the same.
func namespace(version string, doc *document) string {
	return fmt.Sprintf("%s/spdx/%s-%x", homepage, version, sha256.Sum256(fmt.Append(nil, *doc)))
}

func programPackage(program, version string) spdxPackage {
	return spdxPackage{
		Name: strings.TrimPrefix(program, "cmd/"), ID: idOf(program), Version: version, DownloadLocation: "git+" + homepage + "@" + version,
		LicenseConcluded: "Apache-2.0", LicenseDeclared: "Apache-2.0", Copyright: unknown, Purpose: "APPLICATION",
		References: purl(strings.TrimPrefix(homepage, "https://"), version, "#"+program),
	}
}

func libraryPackage(m module) spdxPackage {
	p := spdxPackage{
		Name: m.Path, ID: idOf(m.Path + "-" + m.Version), Version: m.Version, DownloadLocation: unknown,
		LicenseConcluded: unknown, LicenseDeclared: unknown, Copyright: unknown, Purpose: "LIBRARY",
		References: purl(m.Path, m.Version, ""),
	}
	if m.Sum != "" {
		p.SourceInfo = "go.sum: " + m.Sum
	}
	return p
}

// purl is how scanners for vulnerabilities know a Go module.
func purl(path, version, subpath string) []externalRef {
	escaped := strings.ReplaceAll(version, "+", "%2B")
	return []externalRef{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: "pkg:golang/" + path + "@" + escaped + subpath}}
}

// notInID is what the identifier of an element must not hold.
var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]`)

// idOf is the identifier of an element: what it must not hold is spelt as a number, but for slashes, for the sake of its reader.
func idOf(name string) string {
	return "SPDXRef-" + notInID.ReplaceAllStringFunc(strings.ReplaceAll(name, "/", "--"), func(c string) string { return fmt.Sprintf("-x%x-", c) })
}
