// Command generator writes vectors.json: keysets and streams made by tink-go, and streams that must not open.
//
// Run it in this folder: go run . ..
// Keys, salts and nonces are random, so that every run gives other bytes; ../verify.py checks any of them.
package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	gcmpb "github.com/tink-crypto/tink-go/v2/proto/aes_gcm_hkdf_streaming_go_proto"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"github.com/tink-crypto/tink-go/v2/streamingaead"
	"github.com/tink-crypto/tink-go/v2/subtle"
)

// vector is one stream; a valid one opens to the first PlaintextLen bytes of the pattern.
//
// Tink for C++ (and Python, which is built on it) stops at a full segment that was sealed as the last, and does not look
// at what follows. Go and Java refuse such a stream. CppOpens is the plaintext's length that C++ gives then.
type vector struct {
	Name           string `json:"name"`
	Keyset         string `json:"keyset"`
	AssociatedData []byte `json:"associated_data"`
	Valid          bool   `json:"valid"`
	PlaintextLen   int    `json:"plaintext_len"`
	CppOpens       int    `json:"cpp_opens,omitempty"`
	Ciphertext     []byte `json:"ciphertext"`
}

type file struct {
	Origin  string                     `json:"origin"`
	Keysets map[string]json.RawMessage `json:"keysets"`
	Vectors []vector                   `json:"vectors"`
}

var out = file{Origin: "tink-go v2.9.0", Keysets: map[string]json.RawMessage{}}

func main() {
	templates()
	customParameters()
	manyKeys()
	damaged("gcm", aes256Gcm)
	damaged("ctr-hmac", aes128Ctr)
	crafted()
	openAll()

	text := &bytes.Buffer{}
	encoder := json.NewEncoder(text)
	encoder.SetIndent("", " ")
	check(encoder.Encode(out))
	check(os.WriteFile(filepath.Join(os.Args[1], "vectors.json"), text.Bytes(), 0o644))
}

// pattern is the plaintext of every vector.
func pattern(length int) []byte {
	text := make([]byte, length)
	for i := range text {
		text[i] = byte(i%251) ^ byte(i/251)
	}
	return text
}

// templates: each of Tink's own, around the edges of 4 KiB segments (1 MiB ones would make the file huge).
func templates() {
	named := []struct {
		name     string
		template *tinkpb.KeyTemplate
		tag      int
	}{
		{"AES128_GCM_HKDF_4KB", streamingaead.AES128GCMHKDF4KBKeyTemplate(), 16},
		{"AES128_GCM_HKDF_1MB", streamingaead.AES128GCMHKDF1MBKeyTemplate(), 16},
		{"AES256_GCM_HKDF_4KB", streamingaead.AES256GCMHKDF4KBKeyTemplate(), 16},
		{"AES256_GCM_HKDF_1MB", streamingaead.AES256GCMHKDF1MBKeyTemplate(), 16},
		{"AES128_CTR_HMAC_SHA256_4KB", streamingaead.AES128CTRHMACSHA256Segment4KBKeyTemplate(), 32},
		{"AES128_CTR_HMAC_SHA256_1MB", streamingaead.AES128CTRHMACSHA256Segment1MBKeyTemplate(), 32},
		{"AES256_CTR_HMAC_SHA256_4KB", streamingaead.AES256CTRHMACSHA256Segment4KBKeyTemplate(), 32},
		{"AES256_CTR_HMAC_SHA256_1MB", streamingaead.AES256CTRHMACSHA256Segment1MBKeyTemplate(), 32},
	}
	for _, one := range named {
		handle := generate(one.name, one.template)
		lengths := []int{0, 1, 100}
		if one.name[len(one.name)-3:] == "4KB" {
			header := 24
			if one.name[:6] == "AES256" {
				header = 40
			}
			first := 4096 - header - one.tag
			lengths = append(lengths, first, first+1, first+4096-one.tag)
		}
		for _, length := range lengths {
			valid(fmt.Sprintf("%s, %d bytes", one.name, length), one.name, handle, []byte("path/of/file"), length)
		}
	}
}

// customParameters: every hash, odd main keys, the least segments, tags from 10 to 64 bytes, each at many lengths.
func customParameters() {
	custom := []struct {
		name string
		key  *tinkpb.KeyData
	}{
		{"gcm, SHA1, 64-byte segments", gcm(16, 16, sha1Type, 64)},
		{"gcm, SHA512", gcm(32, 32, sha512Type, 100)},
		{"gcm, least segments", gcm(32, 32, sha256Type, 57)},
		{"gcm, 64-byte segments", aes256Gcm()},
		{"ctr-hmac, HKDF SHA1, HMAC SHA1 of 10", ctr(16, 16, sha1Type, sha1Type, 10, 80)},
		{"ctr-hmac, HKDF SHA512, HMAC SHA512 of 64", ctr(32, 32, sha512Type, sha512Type, 64, 150)},
		{"ctr-hmac, least segments, HKDF SHA512, HMAC SHA256", ctr(16, 16, sha512Type, sha256Type, 17, 24+17+1)},
		{"ctr-hmac, HMAC SHA1 of 20", aes128Ctr()},
	}
	for _, one := range custom {
		name := one.name
		handle := store(name, one.key)
		for _, length := range []int{0, 1, 2, 7, 8, 9, 16, 23, 24, 25, 36, 37, 48, 56, 57, 96, 97, 200} {
			valid(fmt.Sprintf("%s, %d bytes", name, length), name, handle, []byte("context"), length)
		}
		valid(name+", no associated data", name, handle, nil, 33)
		long := pattern(300)
		valid(name+", long associated data", name, handle, long, 33)
	}
}

// manyKeys: any enabled key opens, wherever it stands; a disabled one does not.
func manyKeys() {
	aad := []byte("x")
	set := &tinkpb.Keyset{}
	for i, key := range []*tinkpb.KeyData{
		gcm(32, 32, sha256Type, 64), gcm(32, 32, sha256Type, 64), gcm(32, 32, sha256Type, 128),
		ctr(32, 32, sha256Type, sha256Type, 32, 128), gcm(16, 16, sha256Type, 64),
	} {
		set.Key = append(set.Key, entry(uint32(i+1), key))
	}
	all := "many keys"
	for i := range set.Key {
		set.PrimaryKeyId = uint32(i + 1)
		handle := read(set)
		out.Keysets[all] = serialize(handle)
		for _, length := range []int{0, 8, 9, 72, 200} {
			valid(fmt.Sprintf("many keys, key %d, %d bytes", i+1, length), all, handle, aad, length)
		}
	}

	set.PrimaryKeyId = 1
	first := read(set)
	set.Key = append(set.Key, entry(6, gcm(32, 32, sha256Type, 64)))
	set.PrimaryKeyId = 6
	set.Key[0].Status = tinkpb.KeyStatusType_DISABLED
	handle := read(set)
	name := "first of many keys disabled"
	out.Keysets[name] = serialize(handle)
	invalid("key is disabled", name, aad, seal(first, aad, 9))
	invalid("key is not in the keyset", all, aad, seal(handle, aad, 9))
	valid("first key disabled, primary", name, handle, aad, 9)
	set.PrimaryKeyId = 2
	valid("first key disabled, second key", name, read(set), aad, 9)
}

// damaged: one stream of three full segments and a short one, changed in each way that names say.
func damaged(family string, newKey func() *tinkpb.KeyData) {
	name := family + ", damaged"
	handle := store(name, newKey())
	segment, header := 64, 40
	if family != "gcm" {
		segment, header = 80, 24
	}
	aad := []byte("context")
	whole := seal(handle, aad, 2*segment)
	full := seal(handle, aad, firstAndSecond(family))
	add := func(how string, stream []byte) { invalid(family+", "+how, name, aad, stream) }
	part := func(i int) []byte { return whole[i*segment : min((i+1)*segment, len(whole))] }
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	flip := func(position int) []byte {
		stream := bytes.Clone(whole)
		stream[position] ^= 1
		return stream
	}
	out.Vectors = append(out.Vectors, vector{Name: family + ", undamaged", Keyset: name,
		AssociatedData: aad, Valid: true, PlaintextLen: 2 * segment, Ciphertext: whole})

	add("flipped header length", flip(0))
	add("flipped salt", flip(1))
	add("flipped nonce prefix", flip(header-1))
	add("flipped first ciphertext byte", flip(header))
	add("flipped first tag", flip(segment-1))
	add("flipped middle ciphertext", flip(segment+3))
	add("flipped middle tag", flip(2*segment-1))
	add("flipped last tag", flip(len(whole)-1))
	add("empty", nil)
	add("one byte", whole[:1])
	add("header cut", whole[:header-1])
	add("header only", whole[:header])
	add("header and half a tag", whole[:header+5])
	add("last byte missing", whole[:len(whole)-1])
	add("last segment missing", whole[:len(whole)/segment*segment])
	add("only the first segment", whole[:segment])
	add("cut in the middle of a segment", whole[:segment+segment/2])
	add("first segment missing", join(whole[:header], whole[segment:]))
	add("middle segment missing", join(part(0), whole[2*segment:]))
	add("segments 1 and 2 swapped", join(part(0), part(2), part(1), whole[3*segment:]))
	add("segment 1 repeated", join(part(0), part(1), part(1), whole[2*segment:]))
	add("last segment repeated", join(whole, whole[len(whole)/segment*segment:]))
	add("byte in front", join([]byte{0}, whole))
	add("byte behind", join(whole, []byte{0}))
	add("byte behind a full last segment", join(full, []byte{0}))
	last(firstAndSecond(family))
	add("segment behind a full last segment", join(full, part(1)))
	last(firstAndSecond(family))
	add("stream behind itself", join(whole, whole))
	add("header of another stream", join(full[:header], whole[header:]))
	add("segment of another stream", join(part(0), full[segment:2*segment], whole[2*segment:]))
	invalid(family+", wrong associated data", name, []byte("contexT"), whole)
	invalid(family+", no associated data", name, nil, whole)
	other := family + ", another key"
	store(other, newKey())
	invalid(other, other, aad, whole)
}

// firstAndSecond is the plaintext of exactly two full segments.
func firstAndSecond(family string) int {
	if family == "gcm" {
		return 8 + 48
	}
	return 36 + 60
}

// crafted: streams with right tags under wrong numbers and flags, which no writer makes. The sealing below is written
// from the format's description; the first vector, which is valid, shows that it is right.
func crafted() {
	name := "crafted"
	secret := aes256Gcm()
	store(name, secret)
	key := &gcmpb.AesGcmHkdfStreamingKey{}
	check(proto.Unmarshal(secret.Value, key))

	type segment struct {
		number uint32
		flag   byte
		length int
	}
	craft := func(segments ...segment) []byte {
		stream := make([]byte, 40)
		_, err := rand.Read(stream)
		check(err)
		stream[0] = 40
		derived, err := subtle.ComputeHKDF("SHA256", key.KeyValue, stream[1:33], []byte("context"), 32)
		check(err)
		block, err := aes.NewCipher(derived)
		check(err)
		aead, err := cipher.NewGCM(block)
		check(err)
		text := pattern(1000)
		for _, one := range segments {
			nonce := bytes.Clone(stream[33:40])
			nonce = binary.BigEndian.AppendUint32(nonce, one.number)
			nonce = append(nonce, one.flag)
			stream = aead.Seal(stream, nonce, text[:one.length], nil)
			text = text[one.length:]
		}
		return stream
	}
	aad := []byte("context")
	right := craft(segment{0, 0, 8}, segment{1, 0, 48}, segment{2, 1, 5})
	out.Vectors = append(out.Vectors, vector{Name: "crafted, right", Keyset: name,
		AssociatedData: aad, Valid: true, PlaintextLen: 61, Ciphertext: right})
	add := func(how string, segments ...segment) { invalid("crafted, "+how, name, aad, craft(segments...)) }
	add("last segment without its flag", segment{0, 0, 8}, segment{1, 0, 48}, segment{2, 0, 5})
	add("only segment without its flag", segment{0, 0, 5})
	add("every segment with the flag", segment{0, 1, 8}, segment{1, 1, 48}, segment{2, 1, 5})
	last(8)
	add("flag of value 2", segment{0, 0, 8}, segment{1, 0, 48}, segment{2, 2, 5})
	add("numbers from 1", segment{1, 0, 8}, segment{2, 0, 48}, segment{3, 1, 5})
	add("number left out", segment{0, 0, 8}, segment{2, 0, 48}, segment{3, 1, 5})
	add("number twice", segment{0, 0, 8}, segment{0, 0, 48}, segment{1, 1, 5})
	add("short segment in the middle", segment{0, 0, 8}, segment{1, 0, 40}, segment{2, 1, 5})
	add("long first segment", segment{0, 0, 48}, segment{1, 1, 5})
	add("long last segment", segment{0, 0, 8}, segment{1, 1, 49})

	// A header that is well-formed and random, but not the one the segments were sealed under.
	mac := hmac.New(sha256.New, key.KeyValue)
	mac.Write(right[1:33])
	plain := bytes.Clone(right)
	copy(plain[1:33], mac.Sum(nil))
	invalid("crafted, salt replaced by a hash of itself", name, aad, plain)
}

func seal(handle *keyset.Handle, aad []byte, length int) []byte {
	primitive, err := streamingaead.New(handle)
	check(err)
	stream := &bytes.Buffer{}
	writer, err := primitive.NewEncryptingWriter(stream, aad)
	check(err)
	_, err = writer.Write(pattern(length))
	check(err)
	check(writer.Close())
	return stream.Bytes()
}

func valid(name, keys string, handle *keyset.Handle, aad []byte, length int) {
	out.Vectors = append(out.Vectors, vector{Name: name, Keyset: keys,
		AssociatedData: aad, Valid: true, PlaintextLen: length, Ciphertext: seal(handle, aad, length)})
}

func invalid(name, keys string, aad, stream []byte) {
	out.Vectors = append(out.Vectors, vector{Name: name, Keyset: keys, AssociatedData: aad, Ciphertext: stream})
}

// last notes what Tink for C++ makes of the vector before.
func last(cppOpens int) {
	out.Vectors[len(out.Vectors)-1].CppOpens = cppOpens
}

// openAll makes sure that tink-go itself agrees with every vector.
func openAll() {
	for _, one := range out.Vectors {
		handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(out.Keysets[one.Keyset])))
		check(err)
		primitive, err := streamingaead.New(handle)
		check(err)
		reader, err := primitive.NewDecryptingReader(bytes.NewReader(one.Ciphertext), one.AssociatedData)
		var text []byte
		if err == nil {
			text, err = io.ReadAll(reader)
		}
		if (err == nil) != one.Valid || (err == nil && !bytes.Equal(text, pattern(one.PlaintextLen))) {
			log.Fatalf("tink-go disagrees on %q: %v", one.Name, err)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
