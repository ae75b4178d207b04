import { Builder, Reader } from '@contentauth/c2pa-node';
import { createPrivateKey, sign, X509Certificate } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** @typedef {import('darkroom-server/adapters/driver').SignerDriver} SignerDriver */
/** @typedef {import('darkroom-server/core/ports/output-signer').OutputSigner} OutputSigner */
/** @typedef {import('darkroom-server/core/ports/output-signer').UnsignedFile} UnsignedFile */

const TEXT = { type: 'string', minLength: 1 };
const SOURCE_TYPES = 'http://cv.iptc.org/newscodes/digitalsourcetype/';
/** The curve and the digest of each algorithm; the signature is in the form of IEEE P1363, as COSE wants it. */
const ALGORITHMS = {
  es256: { curve: 'prime256v1', digest: 'sha256' },
  es384: { curve: 'secp384r1', digest: 'sha384' },
  es512: { curve: 'secp521r1', digest: 'sha512' },
};
/** Room for the signature, the certificates and a time stamp in the manifest. */
const RESERVED_BYTES = 20_000;
/** A thumbnail would make a small picture many times as large, and shows nothing that the file does not. */
const SETTINGS = { builder: { thumbnail: { enabled: false } } };

/** @type {SignerDriver} */
const c2pa = {
  kind: 'signer',
  name: 'c2pa',
  options: {
    type: 'object',
    additionalProperties: false,
    required: ['certificates_file', 'key_file'],
    properties: {
      certificates_file: {
        ...TEXT,
        description: 'The certificate for signing and its chain, in PEM, the own one first.',
      },
      key_file: { ...TEXT, description: 'Its private key, in PEM.' },
      algorithm: { type: 'string', enum: Object.keys(ALGORITHMS), default: 'es256' },
      timestamp_url: {
        ...TEXT,
        description: 'A server of time stamps (RFC 3161). Without one, signatures end with the certificate.',
      },
      producer: { ...TEXT, default: 'Darkroom', description: 'The name of the program in the manifest.' },
    },
  },
  async open({ options }) {
    const { algorithm, producer, timestamp_url: tsaUrl } = options;
    const { curve, digest } = ALGORITHMS[algorithm];
    const certificates = await contentOf(options, 'certificates_file');
    const pem = await contentOf(options, 'key_file');
    const certificate = readAs('a certificate', 'certificates_file', () => new X509Certificate(certificates));
    const key = readAs('a private key without a password', 'key_file', () => createPrivateKey(pem));
    if (!certificate.checkPrivateKey(key))
      throw new Error('The key in c2pa.key_file does not belong to the first certificate in c2pa.certificates_file.');
    if (key.asymmetricKeyDetails?.namedCurve !== curve)
      throw new Error(
        `c2pa.algorithm ${algorithm} needs a key of the curve ${curve}, which c2pa.key_file does not have.`,
      );
    const callback = async (data) => sign(digest, data, { key, dsaEncoding: 'ieee-p1363' });
    const signer = { alg: algorithm, certs: [certificates], reserveSize: RESERVED_BYTES, directCoseHandling: false };
    // The library looks at the certificate only when it signs. A server of time stamps may be down for a while, so it is not asked.
    await signed(TRIAL, { callback, signer, producer }).then(readThrough, (error) => {
      throw new Error(`Nothing can be signed with c2pa.certificates_file: ${error.message}.`, { cause: error });
    });
    const stamped = tsaUrl === undefined ? signer : { ...signer, tsaUrl };
    return { sign: (file) => signed(file, { callback, signer: stamped, producer }) };
  },
};

export default [c2pa];

/** A PNG of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==',
  'base64',
);
/** @type {UnsignedFile} */
const TRIAL = {
  mediaType: 'image/png',
  byteSize: PIXEL.length,
  mark: { sourceType: 'trainedAlgorithmicMedia' },
  open: async () => Readable.from([PIXEL]),
};

async function contentOf(options, name) {
  try {
    return await readFile(options[name]);
  } catch (error) {
    throw new Error(`c2pa.${name} cannot be read: ${error.message}.`, { cause: error });
  }
}

function readAs(what, name, read) {
  try {
    return read();
  } catch (error) {
    throw new Error(`c2pa.${name} must have ${what} in PEM.`, { cause: error });
  }
}

async function readThrough(bytes) {
  for await (const chunk of bytes) void chunk;
}

/**
 * Both files are on disk while they are needed: a video is larger than what a worker should hold in memory.
 * @param {UnsignedFile} file
 */
async function signed(file, { callback, signer, producer }) {
  // The operator has switched its mark off: a manifest would state what the mark does not.
  if (file.mark === undefined) return null;
  const folder = await mkdtemp(join(tmpdir(), 'c2pa-signer-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const unsigned = { path: join(folder, 'unsigned'), mimeType: file.mediaType };
    const output = { path: join(folder, 'signed'), mimeType: file.mediaType };
    await pipeline(await file.open(), createWriteStream(unsigned.path));
    // A manifest that came with the output says more than ours could.
    if ((await Reader.fromAsset(unsigned)) !== null) return (await remove(), null);
    const builder = Builder.withJson({ claim_generator_info: [{ name: producer }], format: file.mediaType }, SETTINGS);
    builder.setIntent({ create: SOURCE_TYPES + file.mark.sourceType });
    await builder.signConfigAsync(callback, signer, unsigned, output);
    return removedAfter(createReadStream(output.path), remove);
  } catch (error) {
    await remove();
    throw error;
  }
}

async function* removedAfter(bytes, remove) {
  try {
    yield* bytes;
  } finally {
    await remove();
  }
}
