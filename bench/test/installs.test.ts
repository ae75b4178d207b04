/**
 * Goal: everything that the benchmark installs is pinned. Method: the requirements, line by line.
 */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const REQUIREMENTS = fileURLToPath(new URL('../../../bench/gateways/requirements.txt', import.meta.url));

describe('Packages of the benchmark', () => {
  it("pins LiteLLM's proxy and its dependencies", () => {
    const [comment = '', ...lines] = readFileSync(REQUIREMENTS, 'utf8').trim().split('\n');
    expect(comment).to.match(/^# /);
    expect(lines.filter((line) => line.startsWith('litellm=='))).to.have.length(1);
    for (const line of lines) expect(line).to.match(/^[\w.-]+==[\w.]+$/);
  });
});
