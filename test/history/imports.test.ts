// Goal: the checkers run no code of the program, so they cannot share its mistakes.
// Method: types leave no import in compiled modules; no import that remains there may lead out of the tests.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';

const TESTS = join(import.meta.dirname, '..');
/** The harness of the tests of the simulation's checker, and tests. */
const NO_CHECKER = /\.test\.js$|[/\\]checked-service\.js$/;

async function modulesIn(folder: string): Promise<string[]> {
  const files = await readdir(join(TESTS, folder), { recursive: true });
  return files.map((file) => join(folder, file)).filter((file) => file.endsWith('.js') && !NO_CHECKER.test(file));
}

describe('the checkers of histories', () => {
  for (const folder of ['history', 'faults/history', 'simulation/checker']) {
    it(`import nothing of the program but types, in test/${folder}`, async () => {
      const modules = await modulesIn(folder);
      expect(modules).to.have.lengthOf.above(5);
      for (const file of modules) {
        const imports = [...(await readFile(join(TESTS, file), 'utf8')).matchAll(/\bfrom '([^']+)'/g)];
        const ofProgram = imports.map(([, from]) => from).filter((from) => /\/(core|adapters|apps)\//.test(from ?? ''));
        expect(ofProgram, file).to.deep.equal([]);
      }
    });
  }
});
