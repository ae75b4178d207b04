import { Builder, Reader } from '@contentauth/c2pa-node';
import { createPrivateKey, sign, X509Certificate } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** @typedef {import('darkroom/adapters/driver').SignerDriver} SignerDriver */
/** @typedef {import('darkroom/core/ports/output-signer').OutputSigner} OutputSigner */
/** @typedef {import('darkroom/core/ports/output-signer').UnsignedFile} UnsignedFile */

const TEXT = { type: 'string', minLength: 1 };
const SOURCE_TYPES = 'http://cv.iptc.org/newscodes/digitalsourcetype/';
/** What node:crypto needs for each algorithm; the signature is in the form of IEEE P1363, as COSE wants it. */
const DIGESTS = { es256: 'sha256', es384: 'sha384', es512: 'sha512' };
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
      algorithm: { type: 'string', enum: Object.keys(DIGESTS), default: 'es256' },
      timestamp_url: {
        ...TEXT,
        description: 'A server of time stamps (RFC 3161). Without one, signatures end with the certificate.',
      },
      producer: { ...TEXT, default: 'Darkroom', description: 'The name of the program in the manifest.' },
    },
  },
  async open({ options }) {
    const certificates = await readFile(options.certificates_file);
    const key = createPrivateKey(await readFile(options.key_file));
    if (!new X509Certificate(certificates).checkPrivateKey(key))
      throw new Error('The key in c2pa.key_file does not belong to the first certificate in c2pa.certificates_file.');
    const signer = {
      alg: options.algorithm,
      certs: [certificates],
      reserveSize: RESERVED_BYTES,
      directCoseHandling: false,
      ...(options.timestamp_url === undefined ? {} : { tsaUrl: options.timestamp_url }),
    };
    const callback = async (data) => sign(DIGESTS[options.algorithm], data, { key, dsaEncoding: 'ieee-p1363' });
    return { sign: (file) => signed(file, { callback, signer, producer: options.producer }) };
  },
};

export default [c2pa];

/**
 * Both files are on disk while they are needed: a video is larger than what a worker should hold in memory.
 * @param {UnsignedFile} file
 */
async function signed(file, { callback, signer, producer }) {
  const folder = await mkdtemp(join(tmpdir(), 'c2pa-signer-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const unsigned = { path: join(folder, 'unsigned'), mimeType: file.mediaType };
    const output = { path: join(folder, 'signed'), mimeType: file.mediaType };
    await pipeline(await file.open(), createWriteStream(unsigned.path));
    // A manifest that came with the output says more than ours could.
    if ((await Reader.fromAsset(unsigned)) !== null) return (await remove(), null);
    const builder = Builder.withJson({ claim_generator_info: [{ name: producer }], format: file.mediaType }, SETTINGS);
    builder.setIntent({ create: SOURCE_TYPES + (file.mark?.sourceType ?? 'trainedAlgorithmicMedia') });
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
