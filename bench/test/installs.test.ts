/**
 * Goal: what the benchmark installs is pinned, PostgreSQL is found where Debian puts it, and a library that is absent is
 * named. Method: the requirements line by line, folders of the test's own, and a cache with nothing in it.
 */
import { expect } from 'chai';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NpmLibrary } from '../queues/npm-library.js';
import { findPostgres } from '../queues/postgres.js';
import { ServerAbsent } from '../../test/servers/server-absent.js';

const REQUIREMENTS = fileURLToPath(new URL('../../../bench/gateways/requirements.txt', import.meta.url));

describe('what the benchmark installs', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-bench-test-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("has LiteLLM's proxy and everything that it needs pinned", () => {
    const [comment = '', ...lines] = readFileSync(REQUIREMENTS, 'utf8').trim().split('\n');
    expect(comment).to.match(/^# /);
    expect(lines.filter((line) => line.startsWith('litellm=='))).to.have.length(1);
    for (const line of lines) expect(line).to.match(/^[\w.-]+==[\w.]+$/);
  });

  it('takes the PostgreSQL on the PATH, else the newest of Debian that is whole', () => {
    const programs = (version: string, names = ['postgres', 'initdb', 'pg_isready']): string => {
      const bin = join(folder, version, 'bin');
      mkdirSync(bin, { recursive: true });
      for (const name of names) {
        writeFileSync(join(bin, name), '#!/bin/sh\n');
        chmodSync(join(bin, name), 0o755);
      }
      return bin;
    };
    const bare = { PATH: join(folder, 'nothing') };
    expect(findPostgres(bare, join(folder, 'absent'))).to.equal(null);
    programs('9');
    const newest = programs('15');
    programs('17', ['initdb']);
    expect(findPostgres(bare, folder)).to.equal(newest);
    const own = programs('own');
    expect(findPostgres({ PATH: own }, folder)).to.equal(own);
  });

  it('names a library that is absent, with what to do', () => {
    const library = new NpmLibrary('Nothing', { nothing: '1.0.0' }, { XDG_CACHE_HOME: folder });
    expect(() => library.need()).to.throw(ServerAbsent, 'Nothing is not on this machine: run `npm run bench:install`.');
  });
});
