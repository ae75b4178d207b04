// Goal: the example module signs outputs of every format so that a C2PA reader finds a valid manifest that says AI, leaves a
// manifest that is there alone, and refuses a key that is not the certificate's.
// Method: the module, loaded by the configuration as an operator does, and opened; its own library as the reader.
// Without the module's packages on the machine it is skipped with a message.
import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { loadConfig } from '../../../apps/config/load-config.js';
import type { OutputSigner } from '../../../core/ports/output-signer.js';
import { Authority, type Pair } from '../../fixtures/authority.js';
import { collected, streamOf } from '../../fixtures/byte-streams.js';
import { ManualClock } from '../../fixtures/clocks.js';
import { image } from '../../fixtures/images.js';
import { probed } from '../../fixtures/media-probe.js';
import { SILENT } from '../../fixtures/memory-stores.js';
import { mp4 } from '../../fixtures/videos.js';
import { orSkip } from '../foreign-clients.js';
import { C2PA_SIGNER } from './c2pa-signer.js';

/** The output of the library's reader, limited to the members used here. */
interface ManifestStore {
  readonly validation_state: string;
  readonly validation_status?: readonly { readonly code: string }[];
}
interface ReaderClass {
  fromAsset(asset: { readonly buffer: Buffer; readonly mimeType: string }): Promise<{ json(): ManifestStore } | null>;
}

const TYPES = {
  'image/png': async () => image('png', 96, 64),
  'image/jpeg': async () => image('jpeg', 96, 64),
  'image/webp': async () => image('webp', 96, 64),
  'video/mp4': async () => mp4(),
} as const;

describe('the C2PA signer of the examples', () => {
  let folder: string;
  let module: string;
  let reader: ReaderClass;
  let pair: Pair;
  let chain: string;
  before(async function () {
    module = await orSkip(this, () => C2PA_SIGNER.find());
    folder = await mkdtemp(join(tmpdir(), 'darkroom-signer-'));
    const require = createRequire(join(module, 'package.json'));
    ({ Reader: reader } = (await import(pathToFileURL(require.resolve('@contentauth/c2pa-node')).href)) as {
      Reader: ReaderClass;
    });
    const authority = await Authority.make(folder, 'authority');
    pair = authority.issue({ usage: 'emailProtection', commonName: 'Signer/O=Test' });
    chain = join(folder, 'chain.pem');
    await writeFile(chain, Buffer.concat([pair.cert, authority.cert]));
  });
  after(async () => (folder === undefined ? undefined : rm(folder, { recursive: true, force: true })));

  async function open(given: Readonly<Record<string, string>> = {}): Promise<OutputSigner> {
    const file = join(folder, 'darkroom.yaml');
    const options = { certificates_file: chain, key_file: pair.keyFile, ...given };
    await writeFile(file, JSON.stringify({ modules: [module], ai_marks: { signer: 'c2pa' }, c2pa: options }));
    const { signer, dataFolder } = await loadConfig({ file, environment: {}, folder });
    expect(signer?.driver.name).to.equal('c2pa');
    return signer!.driver.open({ options: signer!.options, dataFolder, clock: new ManualClock(), log: SILENT });
  }

  for (const [mediaType, make] of Object.entries(TYPES)) {
    it(`signs ${mediaType}, once`, async () => {
      const signer = await open();
      const before = await make();
      const about = (bytes: Uint8Array) =>
        ({
          mediaType: mediaType as keyof typeof TYPES,
          byteSize: bytes.byteLength,
          mark: { sourceType: 'compositeWithTrainedAlgorithmicMedia' },
          open: async () => streamOf(bytes),
        }) as const;
      const after = Buffer.from(await collected((await signer.sign(about(before)))!));
      const found = await reader.fromAsset({ buffer: after, mimeType: mediaType });
      const manifests = found!.json();
      expect(manifests.validation_state).to.equal('Valid');
      // The authority of this test is in no list of trusted ones.
      expect(manifests.validation_status?.map(({ code }) => code)).to.deep.equal(['signingCredential.untrusted']);
      expect(JSON.stringify(manifests)).to.include('digitalsourcetype/compositeWithTrainedAlgorithmicMedia');
      const facts = async (bytes: Uint8Array) => ({ ...(await probed(bytes)), contentBytes: undefined });
      expect(await facts(after)).to.deep.equal(await facts(before));
      expect(await signer.sign(about(after)), 'it has a manifest').to.equal(null);
    });
  }

  it('signs nothing that has no mark', async () => {
    const bytes = await image('png', 96, 64);
    const file = { mediaType: 'image/png', byteSize: bytes.byteLength, open: async () => streamOf(bytes) } as const;
    expect(await (await open()).sign(file)).to.equal(null);
  });

  it('refuses what it could not sign with when it is opened, in one sentence that names the option', async () => {
    const other = await Authority.make(folder, 'other');
    const web = other.issue({ usage: 'serverAuth', commonName: 'web/O=Test' });
    const cases: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
      [{ key_file: other.keyFile }, /^The key in c2pa\.key_file does not belong to/],
      [{ key_file: join(folder, 'missing') }, /^c2pa\.key_file cannot be read: ENOENT/],
      [{ certificates_file: join(folder, 'missing') }, /^c2pa\.certificates_file cannot be read: ENOENT/],
      [{ key_file: chain }, /^c2pa\.key_file must have a private key/],
      [{ certificates_file: pair.keyFile }, /^c2pa\.certificates_file must have a certificate in PEM\.$/],
      [{ algorithm: 'es384' }, /^c2pa\.algorithm es384 needs a key of the curve secp384r1/],
      [
        { certificates_file: web.certFile, key_file: web.keyFile },
        /^Nothing can be signed with c2pa\.certificates_file: the certificate is invalid\.$/,
      ],
    ];
    for (const [given, sentence] of cases) {
      const error = await open(given).catch((failure: unknown) => failure);
      expect((error as Error).message).to.match(sentence);
    }
  });
});
