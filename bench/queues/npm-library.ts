import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { cacheFolder, type Environment } from '../../test/servers/find-program.js';
import { ServerAbsent } from '../../test/servers/server-absent.js';

const INSTALL_MS = 300_000;

/**
 * A library that is no dependency of ours: it is kept where servers for tests are, and its pins name its folder there.
 * The first pin is the library, the others what it is used with.
 */
export class NpmLibrary {
  private readonly folder: string;
  private readonly name: string;

  constructor(
    readonly title: string,
    private readonly pins: Readonly<Record<string, string>>,
    environment: Environment = process.env,
  ) {
    const [name = ''] = Object.keys(pins);
    this.name = name;
    const [first = '', ...others] = Object.entries(pins).map((pin) => pin.join('-'));
    this.folder = join(cacheFolder(environment), [first.replace(`${name}-`, `${name}-npm-`), ...others].join('-'));
  }

  /** Installs it, once a machine; answers where it is. */
  install(): string {
    if (this.isThere()) return this.folder;
    const parent = dirname(this.folder);
    mkdirSync(parent, { recursive: true });
    const partial = mkdtempSync(join(parent, `partial-${this.name}-`));
    try {
      writeFileSync(join(partial, 'package.json'), '{ "private": true }\n');
      const wanted = Object.entries(this.pins).map((pin) => pin.join('@'));
      const flags = ['--save-exact', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];
      execFileSync('npm', ['install', '--prefix', partial, ...flags, ...wanted], {
        stdio: ['ignore', 'ignore', 'inherit'],
        timeout: INSTALL_MS,
      });
      rmSync(this.folder, { recursive: true, force: true });
      renameSync(partial, this.folder);
    } finally {
      rmSync(partial, { recursive: true, force: true });
    }
    return this.folder;
  }

  /** Throws `ServerAbsent` where it is not installed. */
  need(): void {
    if (!this.isThere()) throw new ServerAbsent(`${this.title} is not on this machine: run \`npm run bench:install\`.`);
  }

  /** What it exports. */
  load(): unknown {
    return createRequire(join(this.folder, 'package.json'))(this.name);
  }

  private isThere(): boolean {
    return existsSync(join(this.folder, 'node_modules', this.name, 'package.json'));
  }
}
