// Goal: the checkers run no code of the program, so they cannot share its mistakes.
// Method: types leave no import in compiled modules. The remaining imports are followed through the tests, and none may
// lead out of them.
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { expect } from 'chai';

const TESTS = join(import.meta.dirname, '..');
/** The checker's test harness, and tests. */
const NO_CHECKER = /\.test\.js$|[/\\]checked-service\.js$/;

async function modulesIn(folder: string): Promise<string[]> {
  const files = await readdir(join(TESTS, folder), { recursive: true });
  return files
    .map((file) => join(TESTS, folder, file))
    .filter((file) => file.endsWith('.js') && !NO_CHECKER.test(file));
}

/** These modules and all local modules that they import, by the module that imported each. */
async function importedBy(modules: readonly string[]): Promise<Map<string, string>> {
  const reached = new Map(modules.map((file) => [file, file]));
  for (const file of reached.keys()) {
    if (!isTest(file)) continue;
    const text = await readFile(file, 'utf8');
    for (const [, from] of text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
      const imported = resolve(dirname(file), from as string);
      if (!reached.has(imported)) reached.set(imported, file);
    }
  }
  return reached;
}

function isTest(file: string): boolean {
  return !relative(TESTS, file).startsWith('..');
}

describe('the checkers of histories', () => {
  for (const folder of ['history', 'simulation/checker']) {
    it(`import nothing of the program but types, in test/${folder}`, async () => {
      const modules = await modulesIn(folder);
      expect(modules).to.have.lengthOf.above(5);
      const reached = await importedBy(modules);
      const outside = [...reached].filter(([file]) => !isTest(file)).map(([file, by]) => `${by} imports ${file}`);
      expect(outside).to.deep.equal([]);
    });
  }

  it('are followed to modules that a checker does not import itself', async () => {
    const reached = await importedBy([join(TESTS, 'simulation/checker/checked-service.js')]);
    expect([...reached.keys()].filter((file) => !isTest(file))).to.have.lengthOf.above(10);
    expect([...reached.values()].some((file) => file.includes('fixtures'))).to.equal(true);
  });
});
