// Opens a protected publication with Readium's client and writes every protected resource, decrypted, to a folder.
//
//   node read.js PUBLICATION PASSPHRASE-FILE FOLDER
//
// The client decrypts in JavaScript where its native plugin is not installed (basic profile). It is fed streams of one
// chunk: its last block goes wrong where a chunk ends right before it.
"use strict";
const crypto = require("crypto");
const fs = require("fs");
const path = require("path");
const parts = "r2-shared-js/dist/es8-es2017/src/";
const { initGlobalConverters_GENERIC, initGlobalConverters_SHARED } = require(parts + "init-globals");
const { PublicationParsePromise } = require(parts + "parser/publication-parser");
const { Transformers } = require(parts + "transform/transformer");
const { bufferToStream, streamToBufferPromise } = require("r2-utils-js/dist/es8-es2017/src/_utils/stream/BufferUtils");

const digest = (text) => crypto.createHash("sha256").update(text).digest("hex");

async function read(publicationPath, passphraseFile, folder) {
  initGlobalConverters_GENERIC();
  initGlobalConverters_SHARED();
  const publication = await PublicationParsePromise(publicationPath);
  if (!publication.LCP || publication.LCP.isNativeNodePlugin()) {
    throw new Error("no license was found, or a native plugin would be used");
  }
  const passphrase = fs.readFileSync(passphraseFile, "utf8").replace(/\n$/, "");
  const wrong = await publication.LCP.tryUserKeys([digest(passphrase + "x")]).then(() => true, () => false);
  if (wrong) throw new Error("another passphrase was accepted");
  await publication.LCP.tryUserKeys([digest(passphrase)]);
  const zip = publication.findFromInternal("zip").Value;
  let count = 0;
  for (const link of [...(publication.Spine || []), ...(publication.Resources || [])]) {
    if (!(link.Properties && link.Properties.Encrypted)) continue;
    const name = link.HrefDecoded || link.Href;
    const sealed = await streamToBufferPromise((await zip.entryStreamPromise(name)).stream);
    const one = () => ({ length: sealed.length, stream: bufferToStream(sealed), reset: async () => one() });
    const opened = await Transformers.tryStream(publication, link, undefined, one(), false, 0, 0, undefined);
    const target = path.join(folder, name);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.writeFileSync(target, await streamToBufferPromise(opened.stream));
    count += 1;
  }
  console.log(JSON.stringify({ title: publication.Metadata.Title, resources: count }));
}

read(...process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  }
);
