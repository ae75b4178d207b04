import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { minVersion, satisfies, subset } from 'semver';

// Goal: the installed packages are the locked ones, on every Node version that the project claims to support, and no
// package reports the installation.
// Method: package.json and package-lock.json are read as data.

interface LockedPackage {
  readonly name?: string;
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly engines?: { readonly node?: string };
}

interface Manifest {
  readonly engines: { readonly node: string };
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8'));
const manifest = read('package.json') as Manifest;
const { packages } = read('package-lock.json') as { readonly packages: Readonly<Record<string, LockedPackage>> };
const locked = Object.entries(packages).filter(([path]) => path !== '');
const named = (holds: (entry: LockedPackage) => boolean) =>
  locked.filter(([, entry]) => holds(entry)).map(([path]) => path);

describe('the locked packages', () => {
  it('each have an integrity digest', () => {
    expect(locked.length).to.be.above(100);
    expect(named(({ integrity }) => integrity === undefined || !integrity.startsWith('sha512-'))).to.deep.equal([]);
  });

  it('name no registry', () => {
    expect(named(({ resolved }) => resolved !== undefined)).to.deep.equal([]);
  });

  it('run no script when they are installed', () => {
    const withScript = locked
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path.split('node_modules/').at(-1) ?? '');
    expect(withScript.filter((name) => manifest.allowScripts[name] !== false && name !== 'fsevents')).to.deep.equal([]);
  });
});

describe('the Node versions in engines', () => {
  const required = locked.flatMap(([, { engines, optional }]) =>
    engines?.node === undefined || optional ? [] : [engines.node],
  );
  const ranges = manifest.engines.node.split('||').map((range) => range.trim());

  it('are all accepted by every package that is always installed', () => {
    expect(required.filter((range) => !subset(manifest.engines.node, range))).to.deep.equal([]);
  });

  it('begin where the packages begin: no older release of the same major version is accepted by all of them', () => {
    for (const range of ranges.filter((each) => each.startsWith('^'))) {
      const first = minVersion(range)!;
      const before = `${first.major}.${first.minor - 1}.99`;
      expect(
        required.some((needed) => !satisfies(before, needed)),
        before,
      ).to.equal(true);
    }
  });
});
