package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// file streams one file through change into a new file.
func file(source, target string, change func(io.Reader, io.Writer) error) error {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(target)
	if err != nil {
		return err
	}
	if err := change(in, out); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// tree streams every file under source to the same relative path under target, on so many goroutines. It is what a
// user of the library would write in ten minutes: a walk, a channel, a few workers.
func tree(source, target, count, oldEnding, newEnding string, change func(io.Reader, io.Writer) error) error {
	workers, err := threads(count)
	if err != nil {
		return err
	}
	paths := make(chan string)
	failures := make(chan error, workers)
	var group sync.WaitGroup
	for range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for path := range paths {
				out := filepath.Join(target, strings.TrimSuffix(path, oldEnding)+newEnding)
				if err := file(filepath.Join(source, path), out, change); err != nil {
					select {
					case failures <- err:
					default:
					}
				}
			}
		}()
	}
	err = filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(target, relative), 0o755)
		}
		if entry.Type().IsRegular() {
			paths <- relative
		}
		return nil
	})
	close(paths)
	group.Wait()
	close(failures)
	if err == nil {
		err = <-failures
	}
	return err
}
