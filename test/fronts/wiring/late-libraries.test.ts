// Goal: a process that serves HTTP starts without the OAuth and the MCP library, each of which takes about a quarter of a
// second to load.
// Method: follow the static imports of the compiled fronts; types are not among them.
import { expect } from 'chai';
import { readFileSync } from 'node:fs';

const STATIC_IMPORT = /^(?:import|export)\s(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]/gm;

function packagesOf(entry: URL): Set<string> {
  const packages = new Set<string>();
  const files = [entry.href];
  for (const file of files) {
    for (const [, name = ''] of readFileSync(new URL(file), 'utf8').matchAll(STATIC_IMPORT)) {
      if (!name.startsWith('.')) packages.add(name);
      else if (!files.includes(new URL(name, file).href)) files.push(new URL(name, file).href);
    }
  }
  return packages;
}

describe('the HTTP fronts', () => {
  it('load no OAuth and no MCP library at start', () => {
    const packages = packagesOf(new URL('../../../apps/wiring/http-fronts.js', import.meta.url));
    expect([...packages]).to.include.members(['koa', '@koa/router']);
    expect([...packages].filter((name) => /^(oidc-provider|@modelcontextprotocol)/.test(name))).to.deep.equal([]);
  });
});
