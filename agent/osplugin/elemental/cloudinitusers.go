// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package elemental

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// cloudInitUser is a user in users.
type cloudInitUser struct {
	Name         string   `yaml:"name"`
	Passwd       string   `yaml:"passwd"`
	HashedPasswd string   `yaml:"hashed_passwd"`
	GECOS        string   `yaml:"gecos"`
	Groups       resolved `yaml:"groups"`
	PrimaryGroup string   `yaml:"primary_group"`
	Homedir      string   `yaml:"homedir"`
	NoCreateHome bool     `yaml:"no_create_home"`
	Shell        string   `yaml:"shell"`
	UID          string   `yaml:"uid"`
	// LockPasswd is true by default.
	LockPasswd *bool    `yaml:"lock_passwd"`
	Sudo       resolved `yaml:"sudo"`
	Keys       []string `yaml:"ssh_authorized_keys"`
	// Rest are the unsupported keys.
	Rest map[string]yaml.Node `yaml:",inline"`
}

const (
	// defaultUser stands for the distribution's user, which Elemental does not have.
	defaultUser = "default"
	// sudoersFile is the one that cloud-init writes.
	sudoersFile = "/etc/sudoers.d/90-cloud-init-users"
)

// noRule are the values of sudo for none, in lower case. cloud-init reads YAML 1.1, where no and off are false, and its documentation has False.
var noRule = []string{"", "false", "no", "off"}

// addUsers decodes a list of users, or names with commas in between.
func (d *userData) addUsers(users yaml.Node) error {
	d.users = map[string]yipUser{}
	entries := []*yaml.Node{&users}
	switch {
	case users.IsZero():
		return nil
	case users.Kind == yaml.SequenceNode:
		entries = users.Content
	case users.Kind != yaml.ScalarNode:
		return errors.New("users are not a list")
	}
	var rules strings.Builder
	for _, entry := range entries {
		if entry.Kind == yaml.AliasNode {
			entry = entry.Alias
		}
		switch {
		case entry.ShortTag() == "!!null":
			continue
		case entry.Kind == yaml.ScalarNode:
			d.addNamed(entry.Value)
			continue
		}
		user := cloudInitUser{}
		if err := entry.Decode(&user); err != nil {
			return fmt.Errorf("users: %w", err)
		}
		if err := d.addUser(user, &rules); err != nil {
			return fmt.Errorf("users: %s: %w", user.Name, err)
		}
	}
	if rules.Len() > 0 {
		d.deferred = append(d.deferred, yipContent{Path: sudoersFile, Mode: 0o440, Content: []byte(rules.String())})
	}
	return nil
}

// addNamed adds users that have no more than a name.
func (d *userData) addNamed(names string) {
	for _, name := range splitList(names) {
		if name != defaultUser {
			d.users[name] = yipUser{LockPasswd: true}
		}
	}
}

func (d *userData) addUser(user cloudInitUser, rules *strings.Builder) error {
	if user.Name == "" {
		return fmt.Errorf("a user without a name (without one it is the user %q, which Elemental hosts do not have)", defaultUser)
	}
	for key := range user.Rest {
		d.ignored = append(d.ignored, "users["+user.Name+"]."+key)
	}
	if user.Name == defaultUser {
		return nil
	}
	groups, err := stringList(user.Groups.Node)
	if err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	sudo, err := sudoRules(user.Sudo.Node)
	if err != nil {
		return err
	}
	for i, rule := range sudo {
		if i == 0 {
			fmt.Fprintf(rules, "\n# User rules for %s\n", user.Name)
		}
		fmt.Fprintf(rules, "%s %s\n", user.Name, rule)
	}
	converted := yipUser{
		GECOS: user.GECOS, Groups: groups, PrimaryGroup: user.PrimaryGroup, Homedir: user.Homedir, NoCreateHome: user.NoCreateHome,
		Shell: user.Shell, UID: user.UID, Keys: user.Keys, PasswordHash: cmp.Or(user.Passwd, user.HashedPasswd),
	}
	// The engine gives users without a password an empty one.
	if converted.PasswordHash == "" || user.LockPasswd == nil || *user.LockPasswd {
		converted.PasswordHash, converted.LockPasswd = "", true
	}
	d.users[user.Name] = converted
	return nil
}

// sudoRules decodes a rule, or a list of them; null, false and an empty text are none.
func sudoRules(node yaml.Node) ([]string, error) {
	switch tag := node.ShortTag(); {
	case tag == "" || tag == "!!null" || node.Kind == yaml.ScalarNode && slices.Contains(noRule, strings.ToLower(node.Value)):
		return nil, nil
	case tag == "!!str":
		return []string{node.Value}, nil
	case node.Kind == yaml.SequenceNode:
		var rules []string
		err := node.Decode(&rules)
		return rules, err
	default:
		return nil, fmt.Errorf("sudo: %q is neither a rule nor a list of rules", node.Value)
	}
}

// stringList decodes a list, or a string with commas.
func stringList(node yaml.Node) ([]string, error) {
	if node.IsZero() {
		return nil, nil
	}
	if node.Kind == yaml.ScalarNode {
		return splitList(node.Value), nil
	}
	var list []string
	err := node.Decode(&list)
	return list, err
}

func splitList(text string) []string {
	var list []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}
