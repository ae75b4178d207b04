/*
 * Goal: the contract of remote providers finds each mistake that it is there for.
 * Method: providers with one mistake each run the contract in another process, and the tests that failed are held against those that
 * must find that mistake. A test that a mistake keeps from ending is ended there by a limit.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from '../../docs/pages.js';
import { FLAWS } from './flawed-providers.js';

/** Far longer than any of these tests takes that ends. */
const LIMIT_MS = 5_000;

/** A test that none of the mistakes has anything to do with. */
const UNTOUCHED = 'finds nothing wrong with a connection that works, and makes nothing';

interface Report {
  readonly failures: readonly { readonly fullTitle: string }[];
  readonly passes: readonly { readonly fullTitle: string }[];
}

describe('the contract of remote providers', () => {
  let report: Report;
  before(async () => {
    const titles = FLAWS.flatMap(([name, , failing]) =>
      [failing].flat().map((test) => `${escaped(`contract: ${name} `)}.*${escaped(test)}$`),
    );
    titles.push(`${escaped(UNTOUCHED)}$`);
    report = await ranInAnotherProcess('dist/test/providers/reference/flawed-suite.js', titles.join('|'));
  });

  for (const [name, , failing] of FLAWS) {
    it(`finds a provider that ${name}`, () => {
      for (const test of [failing].flat()) {
        const isTest = ({ fullTitle }: { readonly fullTitle: string }) =>
          fullTitle.startsWith(`Remote provider contract: ${name} `) && fullTitle.endsWith(test);
        expect(report.failures.filter(isTest), test).to.have.length(1);
      }
    });
  }

  it('accepts the correct variants of these providers', () => {
    const passed = report.passes.filter(({ fullTitle }) => fullTitle.endsWith(UNTOUCHED));
    expect(passed).to.have.length(FLAWS.length);
  });
});

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** Runs a suite with a limit for each test; only tests whose title matches. */
function ranInAnotherProcess(file: string, titles: string): Promise<Report> {
  const mocha = join(ROOT, 'node_modules/mocha/bin/mocha.js');
  const options = ['--no-config', '--exit', '--timeout', String(LIMIT_MS), '--reporter', 'json', '--grep', titles];
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [mocha, ...options, join(ROOT, file)],
      { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 },
      (_, stdout, stderr) => {
        try {
          resolve(JSON.parse(stdout.slice(stdout.indexOf('{\n'))) as Report);
        } catch {
          reject(new Error(`The suite gave no report: ${stderr.slice(0, 2_000)}`));
        }
      },
    );
  });
}
