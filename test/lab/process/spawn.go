// Copyright 2026 The Cluster API Provider Elemental Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner starts children from one thread that lives as long as the lab. Linux sends the parent-death signal when
// the thread that started a child ends, not when the process does (prctl(2), PR_SET_PDEATHSIG), and Go ends threads.
var spawner = sync.OnceValue(func() chan<- spawn {
	requests := make(chan spawn)
	go func() {
		runtime.LockOSThread() // never unlocked: no other goroutine may end this thread
		for request := range requests {
			request.started <- request.command.Start()
		}
	}()
	return requests
})

type spawn struct {
	command *exec.Cmd
	started chan<- error
}

// startChild starts a command whose parent-death signal is sent when the lab's process dies.
func startChild(command *exec.Cmd) error {
	started := make(chan error, 1)
	spawner() <- spawn{command: command, started: started}
	return <-started
}
