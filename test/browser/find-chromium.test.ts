/*
 * Goal: a developer without a browser learns what to do, and CI fails if pages were not tested.
 * Method: the script and the search with separate environments.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { CHROMIUM_VARIABLE, findChromium, isPreferred } from './find-chromium.js';

const INSTALL = fileURLToPath(new URL('install.js', import.meta.url));

describe('the browser that pages are tried in', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-browser-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const install = (variables: NodeJS.ProcessEnv, ...options: string[]) => {
    const { status, stdout } = spawnSync(process.execPath, [INSTALL, ...options], {
      env: { PATH: folder, TEST_SERVERS_INSTALL: 'never', ...variables },
      encoding: 'utf8',
    });
    return [status, stdout.trim()];
  };
  const program = (name: string): string => {
    const path = join(folder, name);
    writeFileSync(path, '#!/bin/sh\n');
    chmodSync(path, 0o755);
    return path;
  };

  it('is the one that is named, else the first on the PATH', () => {
    expect(findChromium({ PATH: folder })).to.equal(null);
    const other = program('google-chrome');
    expect(findChromium({ PATH: folder })).to.equal(other);
    const path = program('chromium');
    expect(findChromium({ PATH: folder })).to.equal(path);
    const shell = program('chromium-headless-shell');
    expect(findChromium({ PATH: folder })).to.equal(shell);
    expect([path, shell, null].map((one) => isPreferred(one, {}))).to.deep.equal([false, true, false]);
    expect(isPreferred(path, { [CHROMIUM_VARIABLE]: path })).to.equal(true);
    expect(findChromium({ PATH: folder, [CHROMIUM_VARIABLE]: '/opt/chromium' })).to.equal('/opt/chromium');
  });

  it('is reported as absent with what to do, and its absence fails CI', () => {
    const [status, said] = install({});
    expect(status).to.equal(0);
    expect(said).to.match(/^Chromium: absent: .* tests that need it are skipped\.$/);
    expect(install({ CI: 'true' })).to.deep.equal([1, said]);
  });

  it('is not installed by those who may not: the reason is said', () => {
    const [, said] = install({ TEST_SERVERS_INSTALL: '' });
    expect(said).to.include('absent: apt-get is not here');
  });

  it('is reported with its place, and in brief not at all', () => {
    const path = program('chromium');
    expect(install({ CI: 'true' })).to.deep.equal([0, `Chromium: ${path}`]);
    expect(install({ CI: 'true' }, '--brief')).to.deep.equal([0, '']);
  });
});
