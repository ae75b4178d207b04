/**
 * Goal: the examples of docs/writing-an-adapter.md are what the page shows, and are adapters that work.
 * Method: compare each block that names a file with that file; put the examples under the contracts of their ports.
 */
import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SystemClock } from '../../adapters/system/system-clock.js';
import type { Submission } from '../../core/ports/provider.js';
import { PrefixedObjectStore } from '../../docs/examples/prefixed-object-store.js';
import { StillProvider } from '../../docs/examples/still-provider.js';
import { MemoryObjectStore } from '../adapters/memory/object-store.js';
import { objectStoreContract } from '../contracts/object-store.contract.js';
import { providerContract } from '../contracts/provider.contract.js';
import { readPage, ROOT } from './pages.js';

describe('docs/writing-an-adapter.md', () => {
  const page = readPage('docs/writing-an-adapter.md');
  const shown = page.blocks
    .map(({ info, text }) => ({ path: info.split(' ')[1] ?? '', text }))
    .filter(({ path }) => path.startsWith('docs/examples/'));

  it('shows files of docs/examples unchanged, and links the others', () => {
    for (const { path, text } of shown) expect(`${text}\n`, path).to.equal(readFileSync(join(ROOT, path), 'utf8'));
    const linked = [...page.prose.matchAll(/\]\((examples\/\w[\w-]*\.ts)\)/g)].map(([, path]) => `docs/${path}`);
    const files = readdirSync(join(ROOT, 'docs/examples')).filter((name) => name.endsWith('.ts'));
    expect([...shown.map(({ path }) => path), ...linked].sort()).to.deep.equal(
      files.map((name) => `docs/examples/${name}`).sort(),
    );
  });
});

const memory = new MemoryObjectStore({ clock: new SystemClock() });
let services = 0;

objectStoreContract({
  name: 'example of a prefix, many services in one store',
  open: async () => new PrefixedObjectStore(memory, `service-${(services += 1)}/`),
  close: async () => undefined,
  supports: {
    send: async (_store, request) => memory.handle(request),
    now: () => Date.now(),
    refusesInvalidKeys: false,
    signsWholeAddress: false,
    sendsNosniff: true,
    keepsEveryKey: true,
    copiesOntoOneKeyOnce: true,
  },
});

const task = (token: string): Submission => ({
  generationId: '0199f0d2-8e60-7b21-9f0e-c2a4d8e6b170',
  attempt: 1,
  modelKey: 'still',
  operation: 'image_generation',
  prompt: 'anything',
  parameters: {},
  references: [],
  settings: {},
  token,
  outputCount: 1,
  timeLeftMs: 60_000,
});

providerContract({
  name: 'example of a still picture',
  open: async () => ({
    provider: new StillProvider(new Uint8Array([1, 2, 3]), 'image/png'),
    quick: task,
    endless: task,
  }),
  close: async () => undefined,
  supports: { recovery: true, cancellation: false },
});
