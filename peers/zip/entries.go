// Reads every entry of each archive with archive/zip; prints a line for each archive: "ok" or the error.
package main

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
)

func read(path string) error {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer archive.Close()
	for _, entry := range archive.File {
		content, err := entry.Open()
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, content); err != nil {
			return err
		}
		content.Close()
	}
	return nil
}

func main() {
	for _, path := range os.Args[1:] {
		if err := read(path); err != nil {
			fmt.Printf("%q\n", err.Error())
		} else {
			fmt.Println("ok")
		}
	}
}
