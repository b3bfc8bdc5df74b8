// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"net"
	"strings"
)

// Numbers of RFC 1035.
const (
	headerLength   = 12
	typeA          = 1
	serverFailure  = 2
	nameError      = 3
	isAnswer       = 0x8400 // a response, authoritative
	nameInQuestion = 0xc000 | headerLength
	lifetime       = 5 // seconds
)

// suffix of the names of Services, after name and namespace.
const suffix = "svc.cluster.local"

// answer is the reply to a request with one question; nil if it is none.
func answer(request []byte, lookUp func(namespace, name string) (net.IP, error)) []byte {
	name, end := question(request)
	if end == 0 {
		return nil
	}
	reply := append([]byte{}, request[:end]...)
	clear(reply[6:headerLength]) // no records
	code := uint16(nameError)
	parts := strings.SplitN(strings.ToLower(name), ".", 3)
	if len(parts) == 3 && parts[2] == suffix {
		address, err := lookUp(parts[1], parts[0])
		switch {
		case err != nil:
			code = serverFailure
		case address != nil:
			code = 0
			if binary.BigEndian.Uint16(request[end-4:]) == typeA {
				reply = withAddress(reply, address)
			}
		}
	}
	binary.BigEndian.PutUint16(reply[2:], isAnswer|code|binary.BigEndian.Uint16(request[2:])&0x100)
	return reply
}

// question is the name in the only question of a request, and where the question ends; 0 if there is none.
func question(request []byte) (name string, end int) {
	if len(request) < headerLength || binary.BigEndian.Uint16(request[4:]) != 1 {
		return "", 0
	}
	labels, at := []string{}, headerLength
	for at < len(request) && request[at] != 0 {
		length := int(request[at])
		if at+1+length >= len(request) {
			return "", 0
		}
		labels = append(labels, string(request[at+1:at+1+length]))
		at += 1 + length
	}
	const typeAndClass = 4
	if end = at + 1 + typeAndClass; end > len(request) {
		return "", 0
	}
	return strings.Join(labels, "."), end
}

func withAddress(reply []byte, address net.IP) []byte {
	reply[7] = 1 // records
	reply = binary.BigEndian.AppendUint16(reply, nameInQuestion)
	reply = binary.BigEndian.AppendUint16(reply, typeA)
	reply = binary.BigEndian.AppendUint16(reply, 1) // Internet
	reply = binary.BigEndian.AppendUint32(reply, lifetime)
	reply = binary.BigEndian.AppendUint16(reply, net.IPv4len)
	return append(reply, address...)
}
