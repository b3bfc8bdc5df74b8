// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
)

// Numbers of the protocol of network block devices.
// Source: NetworkBlockDevice/nbd, doc/proto.md.
const (
	nbdMagic, nbdOption, nbdOptionReply               = 0x4e42444d41474943, 0x49484156454f5054, 0x3e889045565a9
	nbdRequest, nbdReply                              = 0x25609513, 0x67446698
	nbdFixedNewStyle, nbdNoZeroes                     = 1, 2
	nbdHasFlags, nbdSendFlush, nbdSendFUA             = 1, 4, 8
	nbdExportName, nbdInfo, nbdGo                     = 1, 6, 7
	nbdAck, nbdInfoReply, nbdUnsupported              = 1, 3, 1<<31 + 1
	nbdRead, nbdWrite, nbdDisconnect, nbdFlush        = 0, 1, 2, 3
	nbdFUA                                     uint16 = 1
)

// sector is the unit that a disk writes as a whole, in bytes: a write of several can be lost in part.
const sector = 4096

// disk is a disk with a volatile cache, as a network block device. A write is in the cache until the client flushes it, or demands it to be
// durable (FUA). At a power cut any of the writes in the cache may be lost.
type disk struct {
	listener net.Listener
	size     int64

	lock sync.Mutex
	// seen is what the client reads, durable what a power cut leaves.
	seen, durable *os.File
	// cache has the writes since the last flush, oldest first.
	cache []cached
	// written is how many bytes were written so far.
	written int64
	// off is whether the power is cut.
	off bool
}

type cached struct {
	at      int64
	data    []byte
	durable bool
}

// newDisk serves a copy of an image on a socket.
func newDisk(image, dir, socket string) (*disk, error) {
	d := &disk{}
	for path, file := range map[string]**os.File{dir + "/seen": &d.seen, dir + "/durable": &d.durable} {
		if err := copySparse(image, path); err != nil {
			return nil, err
		}
		opened, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		*file = opened
	}
	info, err := d.seen.Stat()
	if err != nil {
		return nil, err
	}
	d.size = info.Size()
	if d.listener, err = net.Listen("unix", socket); err != nil {
		return nil, err
	}
	go d.serve()
	return d, nil
}

func (d *disk) close() error {
	return errors.Join(d.listener.Close(), d.seen.Close(), d.durable.Close())
}

func (d *disk) serve() {
	for {
		connection, err := d.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = connection.Close() }()
			if d.negotiate(connection) == nil {
				_ = d.transmit(connection)
			}
		}()
	}
}

// negotiate returns when the client has chosen the export, which is the only one, whatever its name.
func (d *disk) negotiate(c net.Conn) error {
	hello := binary.BigEndian.AppendUint64(nil, nbdMagic)
	hello = binary.BigEndian.AppendUint64(hello, nbdOption)
	if err := send(c, binary.BigEndian.AppendUint16(hello, nbdFixedNewStyle|nbdNoZeroes)); err != nil {
		return err
	}
	if _, err := receive(c, 4); err != nil {
		return err
	}
	for {
		head, err := receive(c, 16)
		if err != nil {
			return err
		}
		option := binary.BigEndian.Uint32(head[8:])
		if _, err := receive(c, int(binary.BigEndian.Uint32(head[12:]))); err != nil {
			return err
		}
		switch option {
		case nbdExportName:
			return send(c, d.export())
		case nbdGo, nbdInfo:
			info := append([]byte{0, 0}, d.export()...)
			err = errors.Join(sendOption(c, option, nbdInfoReply, info), sendOption(c, option, nbdAck, nil))
			if err != nil || option == nbdGo {
				return err
			}
		default:
			if err := sendOption(c, option, nbdUnsupported, nil); err != nil {
				return err
			}
		}
	}
}

// export is the size and the flags of the disk.
func (d *disk) export() []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64(nil, uint64(d.size)), nbdHasFlags|nbdSendFlush|nbdSendFUA)
}

func sendOption(c net.Conn, option, kind uint32, data []byte) error {
	reply := binary.BigEndian.AppendUint64(nil, nbdOptionReply)
	for _, number := range []uint32{option, kind, uint32(len(data))} {
		reply = binary.BigEndian.AppendUint32(reply, number)
	}
	return send(c, append(reply, data...))
}

// transmit answers one request after the other.
func (d *disk) transmit(c net.Conn) error {
	for {
		head, err := receive(c, 28)
		if err != nil {
			return err
		}
		if binary.BigEndian.Uint32(head) != nbdRequest {
			return fmt.Errorf("request %x", head)
		}
		flags, kind := binary.BigEndian.Uint16(head[4:]), binary.BigEndian.Uint16(head[6:])
		at, length := int64(binary.BigEndian.Uint64(head[16:])), int(binary.BigEndian.Uint32(head[24:]))
		if kind == nbdDisconnect {
			return nil
		}
		var data []byte
		if kind == nbdWrite {
			if data, err = receive(c, length); err != nil {
				return err
			}
		}
		answer, err := d.do(kind, flags, at, length, data)
		if err != nil {
			return err
		}
		reply := binary.BigEndian.AppendUint32(nil, nbdReply)
		reply = append(append(binary.BigEndian.AppendUint32(reply, 0), head[8:16]...), answer...)
		if err := send(c, reply); err != nil {
			return err
		}
	}
}

func (d *disk) do(kind, flags uint16, at int64, length int, data []byte) (answer []byte, err error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.off {
		return nil, errors.New("the power is cut")
	}
	switch kind {
	case nbdRead:
		answer = make([]byte, length)
		_, err = d.seen.ReadAt(answer, at)
	case nbdWrite:
		d.cache = append(d.cache, cached{at, data, flags&nbdFUA != 0})
		d.written += int64(len(data))
		_, err = d.seen.WriteAt(data, at)
	case nbdFlush:
		err = d.flush(func(cached) bool { return true })
	default:
		err = fmt.Errorf("request of kind %d", kind)
	}
	return answer, err
}

// flush writes those sectors of the cache that are chosen, and empties it. The order stays: of two writes of a sector the later one wins.
func (d *disk) flush(chosen func(cached) bool) error {
	for _, each := range d.cache {
		if !chosen(each) {
			continue
		}
		if _, err := d.durable.WriteAt(each.data, each.at); err != nil {
			return err
		}
	}
	d.cache = nil
	return nil
}

// bytesWritten returns how many bytes were written so far.
func (d *disk) bytesWritten() int64 {
	d.lock.Lock()
	defer d.lock.Unlock()
	return d.written
}

// cut cuts the power: nothing is read or written any more.
func (d *disk) cut() {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.off = true
}

// powerOn is what follows a cut: each sector of the cache is lost or not, by the seed. It returns how many were lost, and of how many.
func (d *disk) powerOn(seed uint64) (lost, of int, err error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	var sectors []cached
	for _, each := range d.cache {
		sectors = append(sectors, each.split()...)
	}
	d.cache = sectors
	random := rand.New(rand.NewPCG(seed, seed))
	err = d.flush(func(each cached) bool {
		if each.durable || random.IntN(2) == 0 {
			return true
		}
		lost++
		return false
	})
	if err == nil {
		err = d.forgetSeen()
	}
	d.off = false
	return lost, len(sectors), err
}

// forgetSeen makes the client see what is durable.
func (d *disk) forgetSeen() error {
	if err := copySparse(d.durable.Name(), d.seen.Name()+".new"); err != nil {
		return err
	}
	if err := os.Rename(d.seen.Name()+".new", d.seen.Name()); err != nil {
		return err
	}
	fresh, err := os.OpenFile(d.seen.Name(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { d.seen = fresh }()
	return d.seen.Close()
}

// split returns a write's parts by sectors of the disk.
func (c cached) split() (parts []cached) {
	for at, data := c.at, c.data; len(data) > 0; {
		n := min(int64(len(data)), sector-at%sector)
		parts = append(parts, cached{at, data[:n], c.durable})
		at, data = at+n, data[n:]
	}
	return parts
}

func send(c net.Conn, data []byte) error {
	_, err := c.Write(data)
	return err
}

func receive(c net.Conn, length int) ([]byte, error) {
	data := make([]byte, length)
	_, err := io.ReadFull(c, data)
	return data, err
}
