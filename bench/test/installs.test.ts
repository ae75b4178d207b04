/**
 * Goal: everything that the benchmark installs is pinned. Method: the requirements, line by line, and the lock file.
 */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REQUIREMENTS = fileURLToPath(new URL('../../../bench/gateways/requirements.txt', import.meta.url));
const PORTKEY = fileURLToPath(new URL('../../../bench/gateways/portkey/', import.meta.url));

describe('Packages of the benchmark', () => {
  it("pins LiteLLM's proxy and its dependencies", () => {
    const [comment = '', ...lines] = readFileSync(REQUIREMENTS, 'utf8').trim().split('\n');
    expect(comment).to.match(/^# /);
    expect(lines.filter((line) => line.startsWith('litellm=='))).to.have.length(1);
    for (const line of lines) expect(line).to.match(/^[\w.-]+==[\w.]+$/);
  });

  it("pins Portkey's gateway and its dependencies", () => {
    const read = (file: string) => JSON.parse(readFileSync(join(PORTKEY, file), 'utf8')) as Record<string, object>;
    expect(Object.values(read('package.json')['dependencies'] ?? {}).join()).to.match(/^\d+\.\d+\.\d+$/);
    const { '': _, ...packages } = read('package-lock.json')['packages'] as Record<string, object>;
    expect(packages).to.have.property('node_modules/@portkey-ai/gateway');
    for (const [name, locked] of Object.entries(packages))
      expect(locked, name).to.include.keys('version', 'integrity').and.not.have.property('resolved');
  });
});
