// Goal: what was deleted or replaced is in no byte of the data folder once its remains are removed.
// Method: thousands of generations with texts of all sizes, written and replaced in random order by a server, so that pages are
// reorganised; the texts of some are removed, and all files are searched.
import { expect } from 'chai';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '../../../adapters/sqlite/open-sqlite.js';
import { SeededIds } from '../../fixtures/memory-stores.js';
import { aGeneration, uuidAt } from '../../fixtures/stored-records.js';
import { temporaryFolder } from './sqlite-subject.js';

const COUNT = 4_000;

describe('remains of deleted content in a data folder', () => {
  it('are removed from the database and its log', async () => {
    const folder = temporaryFolder();
    const stores = await openSqlite({ folder, role: 'server' });
    const ids = new SeededIds(7);
    const drawn = () => ids.random(2).reduce((sum, byte) => sum * 256 + byte, 0);
    const generation = (n: number, version: number) => {
      const text = n % 20 === 0 ? `SECRET-${n}-PROMPT` : 'plain';
      const clientTraceId = n % 20 === 0 ? `SECRET-${n}-TRACE` : `plain-${n}`;
      return aGeneration(n, { version, clientTraceId, prompt: `${text} ${'x'.repeat(drawn() % 6_000)}` });
    };
    try {
      const order = Array.from({ length: COUNT }, (_, n) => n).sort(
        (a, b) => ((a * 7_919) % COUNT) - ((b * 7_919) % COUNT),
      );
      await Promise.all(order.map((n) => stores.generations.insert(generation(n, 0))));
      await Promise.all(order.filter((n) => n % 3 === 0).map((n) => stores.generations.replace(generation(n, 1), 0)));
      const files = () => readdirSync(folder).map((name) => readFileSync(join(folder, name)));
      const hasSecrets = () => files().some((bytes) => bytes.includes('SECRET-'));
      expect(hasSecrets()).to.equal(true);
      await Promise.all(
        order.filter((n) => n % 20 === 0).map((n) => stores.generations.remove(uuidAt(n), n % 3 === 0 ? 1 : 0)),
      );
      expect(await stores.erasures.removeRemains()).to.equal('done');
      expect(hasSecrets()).to.equal(false);
    } finally {
      await stores.close();
      rmSync(folder, { recursive: true });
    }
  });
});
