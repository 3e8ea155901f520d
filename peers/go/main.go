// Command go-peer opens and makes files with tink-go and the age library, so that cipherloom can be tested against
// them and measured beside them.
//
//	go-peer tink-keyset TEMPLATE                          writes a new keyset (JSON) to standard output
//	go-peer tink-encrypt|tink-decrypt KEYSET IN OUT [AD]  one file; AD is the associated data
//	go-peer tink-encrypt-tree|tink-decrypt-tree KEYSET SRC DST THREADS
//	go-peer age-encrypt-tree RECIPIENT SRC DST THREADS
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"filippo.io/age"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "go-peer:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("no command; see the comment in main.go")
	}
	command, rest := arguments[0], arguments[1:]
	switch {
	case command == "tink-keyset" && len(rest) == 1:
		return newKeyset(rest[0], os.Stdout)
	case command == "tink-encrypt" && (len(rest) == 3 || len(rest) == 4):
		return tinkFile(rest, sealer)
	case command == "tink-decrypt" && (len(rest) == 3 || len(rest) == 4):
		return tinkFile(rest, opener)
	case command == "tink-encrypt-tree" && len(rest) == 4:
		return tinkTree(rest, sealer, "", ".enc")
	case command == "tink-decrypt-tree" && len(rest) == 4:
		return tinkTree(rest, opener, ".enc", "")
	case command == "age-encrypt-tree" && len(rest) == 4:
		recipient, err := age.ParseX25519Recipient(rest[0])
		if err != nil {
			return err
		}
		return tree(rest[1], rest[2], rest[3], "", ".age", func(in io.Reader, out io.Writer) error {
			sealed, err := age.Encrypt(out, recipient)
			if err != nil {
				return err
			}
			if _, err := io.Copy(sealed, in); err != nil {
				return err
			}
			return sealed.Close()
		})
	}
	return fmt.Errorf("unknown command or wrong number of arguments: %q", arguments)
}

func threads(text string) (int, error) {
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		return 0, fmt.Errorf("not a number of threads: %q", text)
	}
	return count, nil
}
