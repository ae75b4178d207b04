import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { libraryInterpreter } from '../clients/python-library.js';
import { CHART, pathOf } from '../deploy/chart-files.js';
import { findHelm } from '../deploy/tools.js';
import { bufProgram } from '../servers/buf/buf.js';
import { sectionOf, sectionsOf } from './changelog.js';
import { type Place, run } from './run.js';

/** The files of a release, by what they are. Absent ones need a tool that is not on this machine. */
export interface Contents {
  readonly version: string;
  readonly server: string;
  readonly client: string;
  readonly wheel: string;
  readonly sdist: string;
  readonly chart?: string;
}

/** Reports why a trial leaves out a file. A published release must contain every file. */
export type Missing = (reason: string) => void;

/**
 * Makes every file of a release from a built checkout. `source` is where and with which Node it was built; all files go
 * into the folder `target`.
 */
export async function makeContents(source: Place, target: string, missing: Missing): Promise<Contents> {
  const { version } = JSON.parse(readFileSync(join(source.folder, 'package.json'), 'utf8')) as { version: string };
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', target];
  const server = (await run('npm', pack, source)).trim().split('\n').at(-1) ?? '';
  await run('node', ['clients/pack.mjs', target], source);
  await run(await libraryInterpreter(), ['clients/python/pack.py', target], source);
  await run('node', ['dist/test/release/main.js', 'describe', target], source);
  const buf = await bufProgram();
  const built = buf(['build', 'proto', '-o', join(target, 'darkroom.binpb')], source.folder);
  if (built.code !== 0) throw new Error(`buf cannot build proto/: ${built.text}`);
  const chart = packChart(source.folder, target, missing);
  await writeSbom(source, join(target, `darkroom-server-${version}.cdx.json`), version);
  const changelog = readFileSync(join(source.folder, 'CHANGELOG.md'), 'utf8');
  const isCut = sectionsOf(changelog).some(({ title }) => title === version);
  writeFileSync(join(target, 'release-notes.md'), `${sectionOf(changelog, isCut ? version : 'Unreleased').text}\n`);
  const named = (pattern: RegExp): string => readdirSync(target).find((name) => pattern.test(name)) ?? '';
  return {
    version,
    server: join(target, server),
    client: join(target, `darkroom-client-${version}.tgz`),
    wheel: join(target, named(/\.whl$/)),
    sdist: join(target, named(/^darkroom_client-.*\.tar\.gz$/)),
    ...(chart === undefined ? {} : { chart }),
  };
}

function packChart(source: string, target: string, missing: Missing): string | undefined {
  const helm = findHelm();
  if (typeof helm === 'string') {
    missing(`the chart: ${helm}`);
    return undefined;
  }
  const { code, output, complaint } = helm.run(['package', join(source, CHART), '--destination', target]);
  if (code !== 0) throw new Error(`helm cannot pack ${pathOf(CHART)}: ${complaint}`);
  return /saved it to: (.+)$/m.exec(output)?.[1]?.trim();
}

interface Sbom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { name: string; version: string; [name: string]: unknown } };
  readonly components: readonly { readonly name: string; readonly purl?: string }[];
}

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly name?: string; readonly version: string; readonly dev?: boolean }>
  >;
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies?: unknown;
}

/**
 * The packages that an installation of the server has, as CycloneDX. npm makes the list of a lock file without development
 * packages: with `--omit dev` it also leaves out packages that are needed both ways.
 */
async function writeSbom(source: Place, file: string, version: string): Promise<void> {
  const manifest = JSON.parse(readFileSync(join(source.folder, 'package.json'), 'utf8')) as Manifest;
  const { devDependencies: _, ...own } = manifest;
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-sbom-'));
  try {
    writeFileSync(join(folder, 'package.json'), JSON.stringify(own));
    cpSync(join(source.folder, 'package-lock.json'), join(folder, 'package-lock.json'));
    const place = { ...source, folder };
    await run('npm', ['install', '--package-lock-only', '--ignore-scripts', '--offline', '--no-audit'], place);
    const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
    const bom = JSON.parse(await run('npm', args, place)) as Sbom;
    const listed = new Set(bom.components.map(({ purl = '' }) => decodeURIComponent(purl).replace('pkg:npm/', '')));
    const isListed = ([name, wanted]: readonly [string, string]): boolean => listed.has(`${name}@${wanted}`);
    const absent = Object.entries(own.dependencies).filter((one) => !isListed(one));
    const lock = JSON.parse(readFileSync(join(source.folder, 'package-lock.json'), 'utf8')) as Lock;
    const needed = new Set(
      Object.entries(lock.packages).flatMap(([path, { version: locked, name, dev = false }]) =>
        dev ? [] : [`${name ?? path.split('node_modules/').at(-1)}@${locked}`],
      ),
    );
    const unwanted = [...listed].filter((one) => !needed.has(one));
    if (bom.bomFormat !== 'CycloneDX' || absent.length > 0 || unwanted.length > 0)
      throw new Error(`The SBOM is not that of the server: without ${absent.join()}, and with ${unwanted.join()}.`);
    // npm names it after the folder.
    Object.assign(bom.metadata.component, { name: 'darkroom-server', version });
    writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `sha256sum --check SHA256SUMS` reads the file that this writes. */
export function writeChecksums(target: string): readonly string[] {
  const files = readdirSync(target)
    .filter((name) => name !== 'SHA256SUMS')
    .toSorted();
  const lines = files.map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(join(target, name)))
        .digest('hex')}  ${name}`,
  );
  writeFileSync(join(target, 'SHA256SUMS'), `${lines.join('\n')}\n`);
  return files;
}
