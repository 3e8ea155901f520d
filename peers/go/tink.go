package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"github.com/tink-crypto/tink-go/v2/streamingaead"
	"github.com/tink-crypto/tink-go/v2/tink"
)

var templates = map[string]func() *tinkpb.KeyTemplate{
	"AES128_GCM_HKDF_4KB":        streamingaead.AES128GCMHKDF4KBKeyTemplate,
	"AES128_GCM_HKDF_1MB":        streamingaead.AES128GCMHKDF1MBKeyTemplate,
	"AES256_GCM_HKDF_4KB":        streamingaead.AES256GCMHKDF4KBKeyTemplate,
	"AES256_GCM_HKDF_1MB":        streamingaead.AES256GCMHKDF1MBKeyTemplate,
	"AES128_CTR_HMAC_SHA256_4KB": streamingaead.AES128CTRHMACSHA256Segment4KBKeyTemplate,
	"AES128_CTR_HMAC_SHA256_1MB": streamingaead.AES128CTRHMACSHA256Segment1MBKeyTemplate,
	"AES256_CTR_HMAC_SHA256_4KB": streamingaead.AES256CTRHMACSHA256Segment4KBKeyTemplate,
	"AES256_CTR_HMAC_SHA256_1MB": streamingaead.AES256CTRHMACSHA256Segment1MBKeyTemplate,
}

func newKeyset(template string, out io.Writer) error {
	make, known := templates[template]
	if !known {
		return fmt.Errorf("unknown template %q", template)
	}
	handle, err := keyset.NewHandle(make())
	if err != nil {
		return err
	}
	return insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(out))
}

func primitive(path string) (tink.StreamingAEAD, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(file))
	if err != nil {
		return nil, err
	}
	return streamingaead.New(handle)
}

// transform is how one file's bytes become another's.
type transform func(cipher tink.StreamingAEAD, associatedData []byte, in io.Reader, out io.Writer) error

func sealer(cipher tink.StreamingAEAD, associatedData []byte, in io.Reader, out io.Writer) error {
	sealed, err := cipher.NewEncryptingWriter(out, associatedData)
	if err != nil {
		return err
	}
	if _, err := io.Copy(sealed, in); err != nil {
		return err
	}
	return sealed.Close()
}

func opener(cipher tink.StreamingAEAD, associatedData []byte, in io.Reader, out io.Writer) error {
	opened, err := cipher.NewDecryptingReader(in, associatedData)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, opened)
	return err
}

func tinkFile(arguments []string, change transform) error {
	cipher, err := primitive(arguments[0])
	if err != nil {
		return err
	}
	associatedData := []byte{}
	if len(arguments) == 4 {
		associatedData = []byte(arguments[3])
	}
	return file(arguments[1], arguments[2], func(in io.Reader, out io.Writer) error {
		return change(cipher, associatedData, in, out)
	})
}

func tinkTree(arguments []string, change transform, oldEnding, newEnding string) error {
	cipher, err := primitive(arguments[0])
	if err != nil {
		return err
	}
	return tree(arguments[1], arguments[2], arguments[3], oldEnding, newEnding, func(in io.Reader, out io.Writer) error {
		return change(cipher, nil, in, out)
	})
}
