/*
 * Goal: an adapter outside this repository works as docs/writing-an-adapter.md says.
 * Method: follow the page with its own files: pack Darkroom, compile the examples against it as a separate package, pack
 * that too, install both, name the module in a configuration, run the contract, start the service and make a picture.
 * Packages that the registry would provide are linked from the project.
 */
import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import sharp from 'sharp';
import { readPage, ROOT } from '../docs/pages.js';
import { ServedProcess } from '../faults/served-process.js';
import { withMark } from '../fixtures/marked-media.js';
import { programEnvironment } from '../harness/run-sizes.js';
import { freePort } from '../servers/free-port.js';

const CATALOG = `version: 1
models:
  - model_key: still
    display_name: Still
    modality: image
    operations: [image_generation]
    input_schema: { type: object, additionalProperties: false, properties: {} }
    limits: { max_reference_uploads: 0, reference_roles: [], upload_media_types: [], max_upload_bytes: 1, max_outputs: 1, negative_prompt: false }
    price: { version: "1", unit: image, credits_per_unit: 1, minimum_credits: 1, maximum_credits: 1 }
    provider: still
    queue_timeout_seconds: 60
    run_timeout_seconds: 60
    max_attempts: 1
    concurrency: 1
    cancel_floor_credits: 0
    on_unknown_acceptance: fail
    poll_interval_ms: 10
`;
const TSCONFIG = {
  compilerOptions: {
    target: 'ES2023',
    module: 'NodeNext',
    strict: true,
    skipLibCheck: true,
    rootDir: 'src',
    outDir: 'dist',
    types: ['node'],
  },
  include: ['src'],
};

/** The packages that the page says to install for the contracts, and those that compile a package. */
const BESIDE_THE_CONTRACTS = ['mocha', 'chai', 'fast-check', '@types/node', '@types/mocha', '@types/chai'];

function manifestOf(folder: string): { readonly dependencies: Readonly<Record<string, string>> } {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as ReturnType<typeof manifestOf>;
}

function blockOf(name: string): string {
  const block = readPage('docs/writing-an-adapter.md').blocks.find(({ info }) => info.split(' ')[1] === name);
  if (block === undefined) throw new Error(`The page has no block ${name}.`);
  return `${block.text}\n`;
}

describe('an adapter in its own package', () => {
  let folder: string;
  let server: ServedProcess | undefined;
  const main = () => join(folder, 'node_modules/darkroom-server/dist/apps/cli/main.js');
  const run = (command: string, args: readonly string[], cwd = folder) =>
    execFileSync(command, args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...programEnvironment(), DARKROOM_PROFILE: join(folder, 'profile.json') },
    });
  /** Does what npm does for a tarball in node_modules. */
  const install = (name: string, tarball: string) => {
    mkdirSync(join(folder, 'node_modules', name));
    run('tar', ['-xzf', tarball, '--strip-components=1', '-C', join(folder, 'node_modules', name)]);
  };
  /** Links these packages as npm links a folder: they find their own dependencies at their real location. */
  const link = (names: readonly string[]) => {
    for (const name of names) {
      mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
    }
  };
  const pack = (from: string) =>
    join(
      folder,
      (
        JSON.parse(run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], from)) as [
          { filename: string },
        ]
      )[0].filename,
    );

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-outside-'));
    mkdirSync(join(folder, 'node_modules'));
    link(Object.keys(manifestOf(ROOT).dependencies));
    link(BESIDE_THE_CONTRACTS);
    install('darkroom-server', pack(ROOT));

    const own = join(folder, 'darkroom-still');
    mkdirSync(join(own, 'src'), { recursive: true });
    for (const name of readdirSync(join(ROOT, 'docs/examples')).filter((file) => file.endsWith('.ts')))
      copyFileSync(join(ROOT, 'docs/examples', name), join(own, 'src', name));
    writeFileSync(join(own, 'src/contracts.test.ts'), blockOf('contracts.test.ts'));
    writeFileSync(join(own, 'package.json'), blockOf('package.json'));
    writeFileSync(join(own, 'tsconfig.json'), JSON.stringify(TSCONFIG));
    run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', own]);
    install('darkroom-still', pack(own));

    const port = await freePort();
    await sharp({ create: { width: 40, height: 30, channels: 3, background: '#a03020' } })
      .png()
      .toFile(join(folder, 'picture.png'));
    writeFileSync(join(folder, 'catalog.yaml'), CATALOG);
    writeFileSync(join(folder, 'darkroom.yaml'), `${blockOf('darkroom.yaml')}rest: { port: ${port} }\n`);
    server = new ServedProcess(join(folder, 'darkroom.yaml'), folder, `http://127.0.0.1:${port}`, main());
  });
  after(async () => {
    await server?.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('finds the account page in the package that it is installed beside', () => {
    const web = join(folder, 'node_modules/darkroom-server/dist/web');
    const files = [...readFileSync(join(web, 'index.html'), 'utf8').matchAll(/"\/console\/(assets\/[^"]+)"/g)];
    expect(files).to.have.lengthOf.at.least(3);
    for (const [, file = ''] of files) expect(readFileSync(join(web, file)).byteLength).to.be.above(0);
  });

  it('passes the contract of its port, run from that package', () => {
    const own = join(folder, 'darkroom-still');
    const report = JSON.parse(
      run(
        process.execPath,
        [join(ROOT, 'node_modules/mocha/bin/mocha.js'), '--reporter', 'json', 'dist/contracts.test.js'],
        own,
      ),
    ) as { stats: { passes: number; failures: number } };
    expect(report.stats.failures).to.equal(0);
    expect(report.stats.passes).to.be.above(5);
  });

  it('can import every contract', () => {
    const names = readdirSync(join(folder, 'node_modules/darkroom-server/dist/test/contracts'))
      .filter((file) => file.endsWith('.contract.js'))
      .map((file) => file.slice(0, -'.js'.length));
    expect(names).to.have.lengthOf.above(10);
    const text = [...names, 'fake-server']
      .map((name) => `await import('darkroom-server/contracts/${name}');`)
      .join('\n');
    run(process.execPath, ['--input-type=module', '--eval', text]);
  });

  it('is loaded by the configuration, and creates and stores a picture', async () => {
    expect(run(process.execPath, [main(), 'catalog', 'check'])).to.include('catalog.yaml is right: 1 model (still).');
    await server?.start();
    run(process.execPath, [main(), 'generate', 'anything', '--model', 'still', '--out', 'made.png']);
    const delivered = withMark(readFileSync(join(folder, 'picture.png')));
    expect(readFileSync(join(folder, 'made.png')).equals(delivered)).to.equal(true);
  });
});
